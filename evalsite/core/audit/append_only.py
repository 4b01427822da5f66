"""The trigger by which PostgreSQL keeps the log of accounts, added by the first migration."""

from typing import Any

# the task that deletes old lines sets evalsite.retention for its own transaction
_TRIGGER = """
CREATE FUNCTION evalsite_keep_account_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('evalsite.retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The log of accounts is append-only.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER account_log_is_append_only BEFORE UPDATE OR DELETE ON audit_accountevent
    FOR EACH ROW EXECUTE FUNCTION evalsite_keep_account_log();
"""


def add_trigger(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_TRIGGER)


def drop_trigger(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION evalsite_keep_account_log() CASCADE")
