/** The name of the column of an undocumented field. */
import { hash } from 'node:crypto'

/** Postgres truncates identifiers to 63 bytes. Source: its documentation, "Identifiers and Key Words". */
const maxIdentifierBytes = 63

/** System columns that every table of one of the databases has. */
const systemColumns = ['oid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid', 'rowid', '_rowid_']

/** `customFields.plan` → `custom_fields__plan`. A name that is taken, or too long, ends in a hash of the path. */
export function columnName(path: string, taken: ReadonlySet<string>): string {
  const plain = path.split('.').map(toSnakeCase).join('__')
  if (plain.length <= maxIdentifierBytes && !taken.has(plain) && !systemColumns.includes(plain)) return plain
  for (let n = 0; ; n++) {
    const suffix = hash('sha256', n === 0 ? path : `${path} ${n}`).slice(0, 8)
    const name = `${plain.slice(0, maxIdentifierBytes - suffix.length - 1)}_${suffix}`
    if (!taken.has(name)) return name
  }
}

function toSnakeCase(segment: string): string {
  const words = segment
    .replace(/([a-z0-9])(?=[A-Z])/g, '$1_')
    .replace(/([A-Z])(?=[A-Z][a-z])/g, '$1_')
    .toLowerCase()
    .split(/[^a-z0-9]/)
  const name = words.filter((word) => word !== '').join('_')
  return name === '' ? 'field' : /^\d/.test(name) ? `f_${name}` : name
}
