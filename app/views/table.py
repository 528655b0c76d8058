"""All tensors as a table that sorts and filters."""

from __future__ import annotations

from typing import Any

import dash
import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import data

_NUMBER = {"type": "rightAligned", "filter": "agNumberColumnFilter", "width": 92}
_MEASURED = {**_NUMBER, "width": 78, "hide": True}
_VALUE = {**_MEASURED, "valueFormatter": {"function": "galloscopeNumber(params.value)"}}
_BYTES = {**_NUMBER, "valueFormatter": {"function": "galloscopeBytes(params.value)"}}


def columns() -> list[dict[str, Any]]:
    """The columns, the ones that tell tensors apart first."""
    made: list[dict[str, Any]] = [
        {"field": "name", "pinned": "left", "width": 208, "cellClass": "gs-mono", "tooltipField": "name"},
        {"field": "op", "width": 128},
        {"field": "type", "width": 64},
        {"field": "ne", "headerName": "shape", "width": 124},
        {"field": "bytes", **_BYTES, "width": 84},
        {"field": "device", "width": 96, "cellRenderer": "GalloscopeDevice"},
        {"field": "cause", "width": 84, "cellClass": "gs-mono",
         "tooltipValueGetter": {"function": "galloscopeCause(params.value)"}},
        {"field": "split", **_NUMBER, "width": 72},
        {"field": "layer", **_NUMBER, "width": 76},
        {"field": "step", **_NUMBER, "width": 76},
        {"field": "place", "headerName": "buffer", "width": 104},
        {"field": "offset", **_NUMBER, "width": 116, "cellClass": "gs-mono ag-right-aligned-cell",
         "valueFormatter": {"function": "galloscopeHex(params.value)"}},
        {"field": "size", "headerName": "takes", **_BYTES},
        {"field": "born", **_NUMBER, "width": 76},
        {"field": "dies", **_NUMBER, "width": 76},
        {"field": "parent", "headerName": "in place of", "width": 144, "cellClass": "gs-mono"},
        {"field": "id", **_NUMBER, "width": 72},
        # Of a run: shown when there is one, before the columns of the plan.
        {"field": "took", **_MEASURED, "valueFormatter": {"function": "galloscopeSeconds(params.value)"}},
        {"field": "low", "headerName": "min", **_VALUE},
        {"field": "high", "headerName": "max", **_VALUE},
        {"field": "mean", **_VALUE},
        {"field": "wrong", "headerName": "NaN, inf", **_MEASURED, "cellClass": "gs-run-bad ag-right-aligned-cell"},
    ]  # fmt: skip
    return [{"headerName": column["field"], **column} for column in made]


def layout() -> Component:
    """The grid; its rows come from the scene and one more route when it is first looked at."""
    theme = {
        "function": "themeQuartz.withParams({backgroundColor:'var(--gs-surface)',foregroundColor:'var(--gs-text)',"
        "borderColor:'var(--gs-line)',headerBackgroundColor:'var(--gs-bg)',headerTextColor:'var(--gs-muted)',"
        "accentColor:'var(--gs-accent)',selectedRowBackgroundColor:'var(--gs-selected)',"
        "rowHoverColor:'var(--gs-hover)',chromeBackgroundColor:'var(--gs-bg)',oddRowBackgroundColor:'transparent',"
        "fontFamily:'inherit',fontSize:12,headerFontSize:12,headerFontWeight:500,rowHeight:24,headerHeight:28,"
        "cellHorizontalPadding:8,wrapperBorder:false,wrapperBorderRadius:0,columnBorder:false})"
    }
    words = dmc.TextInput(
        id="table-filter",
        placeholder="Filter: words in any column",
        size="xs",
        className="gs-table-filter",
        **data(aria_label="Filter the table"),
    )
    grid = html.Div(
        dag.AgGrid(
            id=ids.TABLE,
            columnDefs=columns(),
            rowData=[],
            defaultColDef={"sortable": True, "filter": True, "resizable": True, "suppressHeaderMenuButton": True},
            getRowId="params.data.row",
            dashGridOptions={
                "theme": theme,
                "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": False},
                "animateRows": False,
                "tooltipShowDelay": 400,
                "suppressNoRowsOverlay": True,
                "alwaysShowHorizontalScroll": True,
                "suppressCellFocus": False,
            },
            style={"height": "100%", "width": "100%"},
        ),
        className="gs-table-grid",
    )
    return html.Div([words, grid], id="table-box", className="gs-fill gs-table", hidden=True)


def register(app: dash.Dash, store: SessionStore) -> None:
    """Filled by `assets/page_table.js`."""
