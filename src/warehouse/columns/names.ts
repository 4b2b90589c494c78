/** How the column of an undocumented field is called: snake_case, `__` between the levels, never a name that is taken. */
import { createHash } from 'node:crypto'

/** Postgres cuts identifiers at 63 bytes. Source: its documentation, "Identifiers and Key Words". */
const longest = 63

/** Names that mean something else in every table of one of the databases. */
const system = ['oid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid', 'rowid', '_rowid_']

/** `customFields.plan` → `custom_fields__plan`. A name that is taken, or too long, ends in a hash of the path. */
export function columnName(path: string, taken: ReadonlySet<string>): string {
  const plain = path.split('.').map(snake).join('__')
  if (plain.length <= longest && !taken.has(plain) && !system.includes(plain)) return plain
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 8)
  return `${plain.slice(0, longest - hash.length - 1)}_${hash}`
}

function snake(segment: string): string {
  const name = segment
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return name === '' ? 'field' : /^\d/.test(name) ? `f_${name}` : name
}
