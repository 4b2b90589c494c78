/** The formats of exports, and their endings. */

/** The format that a file's name shows; undefined: none. */
export function formatOfPath(path: string): ExportFormat | undefined {
  return exportFormats.find((format) => endings[format].some((ending) => path.toLowerCase().endsWith(`.${ending}`)))
}

export const exportFormats = ['csv', 'jsonl', 'parquet', 'sqlite'] as const
export type ExportFormat = (typeof exportFormats)[number]

const endings: Readonly<Record<ExportFormat, readonly string[]>> = {
  csv: ['csv'],
  jsonl: ['jsonl', 'ndjson'],
  parquet: ['parquet'],
  sqlite: ['db', 'sqlite', 'sqlite3'],
}
