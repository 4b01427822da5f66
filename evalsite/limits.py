"""Limits of the site: constants, so that every site treats people and files alike."""

_MIB = 1024 * 1024

# --- uploads (printed on the upload page) ---

UPLOAD_MAX_BYTES = 25 * _MIB
# unpacked, where the file itself is compressed
UPLOAD_MAX_TEXT = 200 * _MIB
UPLOAD_MAX_ROWS = 200_000
UPLOAD_MAX_CELL = _MIB
UPLOAD_MAX_COLUMNS = 200
# files that were uploaded and neither imported nor cancelled
UPLOAD_STUDY_FILES = 10
UPLOAD_STUDY_BYTES = 250 * _MIB
UPLOAD_PERSON_FILES = 20
UPLOAD_PERSON_BYTES = 500 * _MIB
# larger files, some 5,000 rows and on, are checked and imported by a job
UPLOAD_JOB_BYTES = _MIB

# --- exports ---

# exports of more rows are written by a job
EXPORT_STREAM_ROWS = 50_000

# --- people ---

# new participants of a study in an hour: from one address, and in all; 0 sets no limit
JOINS_PER_ADDRESS = 60
JOINS_PER_STUDY = 1_000
# what one person sends, in each process; 0 sets no limit
SAVES_A_MINUTE = 60
DRAFTS_A_MINUTE = 300

# --- logs ---

LOG_LEVEL = "INFO"

# --- days ---

# for how long an invitation to a study can be accepted
INVITATION_DAYS = 14
# how long a researcher has to answer a review of a rejection
REVIEW_DAYS = 5
