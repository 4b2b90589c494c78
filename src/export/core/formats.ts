/** The formats of exports. */

/** The endings by which a file's name shows its format. */
const endings = {
  csv: ['csv'],
  jsonl: ['jsonl', 'ndjson'],
  parquet: ['parquet'],
  sqlite: ['db', 'sqlite', 'sqlite3'],
}

export type ExportFormat = keyof typeof endings
export const exportFormats = Object.keys(endings) as readonly ExportFormat[]

export function formatOfPath(path: string): ExportFormat | undefined {
  return exportFormats.find((format) => endings[format].some((ending) => path.toLowerCase().endsWith(`.${ending}`)))
}
