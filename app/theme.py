"""Type, colour and spacing for the controls; `assets/page.css` says the same to everything else."""

from __future__ import annotations

from typing import Any

THEME: dict[str, Any] = {
    "primaryColor": "blue",
    "defaultRadius": 6,
    "fontFamily": 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
    "fontFamilyMonospace": 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
    "fontSizes": {"xs": "12px", "sm": "13px", "md": "13px", "lg": "20px", "xl": "20px"},
    "spacing": {"xs": "4px", "sm": "8px", "md": "12px", "lg": "16px", "xl": "24px"},
    "headings": {"fontWeight": "600"},
}
