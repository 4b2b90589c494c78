/** Makes the checks of write-backs anew where a warehouse has those of another version, whose operations are not all of this one. */
import type { DatabaseKind } from './column-types.ts'
import { createTable, type Run } from './create-missing.ts'
import { type TableSpec, tables } from './tables.ts'
import { columnClauses, tableClauses } from './writeback-constraints.ts'

type Replace = (run: Run, name: string, create: (as: string) => string) => Promise<void>

export async function replaceChecks(run: Run, kind: DatabaseKind): Promise<void> {
  const replace = kind === 'sqlite' ? replaceInSqlite : replaceInPostgres
  const checked = Object.entries<TableSpec>(tables).filter(([name]) => name in columnClauses[kind])
  for (const [name, spec] of checked) await replace(run, name, (as) => createTable(kind, name, spec, as))
}

/** Checks that people added stay. */
const replaceInPostgres: Replace = async (run, name, create) => {
  const checksOf = (table: string) =>
    run(`select replace(conname, '${table}_', '${name}_') as name, pg_get_constraintdef(oid) as rule
      from pg_constraint where contype = 'c' and conrelid = '${table}'::regclass`)
  const stored = new Map((await checksOf(name)).map((check) => [check.name, check.rule]))
  // The database writes a check in its own way, so only it can compare them.
  await run(create(`${name}_made`))
  const differing = (await checksOf(`${name}_made`)).filter((check) => stored.get(check.name) !== check.rule)
  await run(`drop table ${name}_made`)
  const clauses = differing.flatMap((check) => [
    `drop constraint if exists ${check.name}`,
    `add constraint ${check.name} ${check.rule}`,
  ])
  if (clauses.length > 0) await run(`alter table ${name} ${clauses.join(', ')}`)
}

/**
 * SQLite cannot alter a check, so the table is made anew, with the columns, indexes and triggers that people added. Foreign
 * keys are off meanwhile: rows of other tables that name a write-back would be deleted with the table.
 */
const replaceInSqlite: Replace = async (run, name, create) => {
  const [stored] = await run(`select sql from sqlite_master where type = 'table' and name = '${name}'`)
  if (wantedInSqlite(name).every((check) => plain(stored?.sql).includes(check))) return
  const attached = await run(`select sql from sqlite_master where tbl_name = '${name}' and type in ('index', 'trigger')
    and sql is not null`)
  const declared = splitDeclarations(String(stored?.sql))
  const columns = await run(`select '"' || name || '"' as name, cid, hidden from pragma_table_xinfo('${name}')`)
  // A generated one is computed again.
  const names = columns.flatMap((column) => (column.hidden === 0 ? [column.name] : [])).join(', ')
  await run(`create table ${name}_before as select * from ${name} order by rowid`)
  await run(`drop table ${name}`)
  await run(create(name))
  const made = new Set(
    (await run(`select '"' || name || '"' as name from pragma_table_info('${name}')`)).map((column) => column.name),
  )
  for (const column of columns.filter((column) => !made.has(column.name)))
    await run(`alter table ${name} add column ${declared[Number(column.cid)]}`)
  await run(`insert into ${name} (${names}) select ${names} from ${name}_before order by rowid`)
  await run(`drop table ${name}_before`)
  for (const { sql } of attached) await run(String(sql))
}

/** Of columns, in their order, and then of constraints: as they were written, with the defaults and rules of people. */
function splitDeclarations(sql: string): readonly string[] {
  const found = ['']
  let level = 0
  for (const [part] of sql.matchAll(/'[^']*'|"[^"]*"|[(),]|[^'"(),]+/g)) {
    if (part === ')') level -= 1
    if (part === ',' && level === 1) found.push('')
    else if (level > 0) found.push(`${found.pop()}${part}`)
    if (part === '(') level += 1
  }
  return found
}

function wantedInSqlite(name: string): readonly string[] {
  const clauses = [...Object.values(columnClauses.sqlite[name] ?? {}), ...(tableClauses('sqlite')[name] ?? [])]
  return clauses
    .filter((clause) => clause.includes('check '))
    .map((clause) => plain(clause.slice(clause.indexOf('check '))))
}

const plain = (sql: unknown): string => String(sql).replace(/\s+/g, ' ')
