/** The formats of exports, their endings, and whether a terminal can show them. */

const formats = {
  csv: { endings: ['csv'], isText: true },
  jsonl: { endings: ['jsonl', 'ndjson'], isText: true },
  xlsx: { endings: ['xlsx'], isText: false },
  parquet: { endings: ['parquet'], isText: false },
  sqlite: { endings: ['db', 'sqlite', 'sqlite3'], isText: false },
}
export type ExportFormat = keyof typeof formats
export const exportFormats = Object.keys(formats) as readonly ExportFormat[]

/** The format that a file's name shows; undefined: none. */
export function formatOfPath(path: string): ExportFormat | undefined {
  return exportFormats.find((format) =>
    formats[format].endings.some((ending) => path.toLowerCase().endsWith(`.${ending}`)),
  )
}

export const isTextFormat = (format: ExportFormat): boolean => formats[format].isText

/** How a table for a spreadsheet is written. The separator is that of CSV. */
export type SpreadsheetForm = {
  readonly format: Extract<ExportFormat, 'xlsx' | 'csv'>
  readonly separator: CsvSeparatorChoice
}
/** Those that can be chosen: programs of countries with a decimal comma expect semicolons. */
export const separatorChoices = [',', ';', '\t'] as const
export type CsvSeparatorChoice = (typeof separatorChoices)[number]
