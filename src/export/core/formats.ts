/** The formats of exports, their endings, and whether a terminal can show them. */

/** The format that a file's name shows; undefined: none. */
export function formatOfPath(path: string): ExportFormat | undefined {
  return exportFormats.find((format) =>
    formats[format].endings.some((ending) => path.toLowerCase().endsWith(`.${ending}`)),
  )
}

export const isTextFormat = (format: ExportFormat): boolean => formats[format].isText

export const exportFormats = ['csv', 'jsonl', 'xlsx', 'parquet', 'sqlite'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** How a table for a spreadsheet is written. The separator is that of CSV. */
export type SpreadsheetForm = {
  readonly format: Extract<ExportFormat, 'xlsx' | 'csv'>
  readonly separator: CsvSeparatorChoice
}
/** Those that can be chosen: programs of countries with a decimal comma expect semicolons. */
export const separatorChoices = [',', ';', '\t'] as const
export type CsvSeparatorChoice = (typeof separatorChoices)[number]

type Format = { readonly endings: readonly string[]; readonly isText: boolean }

const formats: Readonly<Record<ExportFormat, Format>> = {
  csv: { endings: ['csv'], isText: true },
  jsonl: { endings: ['jsonl', 'ndjson'], isText: true },
  xlsx: { endings: ['xlsx'], isText: false },
  parquet: { endings: ['parquet'], isText: false },
  sqlite: { endings: ['db', 'sqlite', 'sqlite3'], isText: false },
}
