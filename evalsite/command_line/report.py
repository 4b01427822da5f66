"""evalsite report: the results of ratings in a file, without a site."""

from argparse import ArgumentParser, Namespace

from evalsite.analysis.__main__ import add_reading, add_report, analyse_ratings
from evalsite.command_line.output import Refused, Result
from evalsite.command_line.ratings_file import open_ratings
from evalsite.results.report.bare import write_report


def add_arguments(parser: ArgumentParser) -> None:
    add_report(parser)
    add_reading(parser)
    # no gate is asked for: that is a command of its own
    parser.set_defaults(
        command="report", gate="", against="", margin=None, slices="", undecided=None
    )


def run(options: Namespace) -> Result:
    try:
        with open_ratings(options):
            report, _ = analyse_ratings(options)
    except ValueError as error:
        raise Refused(str(error)) from None
    text = write_report(report, has_other_papers=options.other_papers)
    return Result(text=text, facts={"report": report})
