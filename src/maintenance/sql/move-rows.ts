/**
 * Copies the rows of a table of one project in the order of their key, so that the target tells how
 * far an interrupted move came. Rows that are there are compared batch by batch and replaced where
 * they differ. Then the target is read, and the digests are compared.
 */

import { hash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { type ColumnType, type DatabaseKind, plainType } from '../../../schema/column-types.ts'
import { runOn } from '../../../schema/create-missing.ts'
import { hasProject, placeColumns } from '../../../schema/moved-tables.ts'
import type { TableSpec } from '../../../schema/tables.ts'
import type { Scalar } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { errorCode, UserError } from '../../values/user-error.ts'
import {
  beginSnapshot,
  beginStatements,
  type Db,
  type DbConnection,
  type ValueList,
} from '../../warehouse/connection-pool.ts'
import { batchesOf, elementType, quoteName, rowsPerStatement } from '../../warehouse/dialect.ts'
import { batchReader } from '../../warehouse/postgres-cursor.ts'
import { codecOf, type ValueCodec } from './moved-values.ts'

/** One of the two warehouses, on a connection that only the move uses. */
export type MoveSide = {
  readonly kind: DatabaseKind
  readonly connection: DbConnection
  readonly db: Db
}

export type MovedRows = { readonly rows: number; readonly digest: string }

type Work = {
  readonly source: MoveSide
  readonly target: MoveSide
  readonly table: {
    readonly name: string
    readonly spec: TableSpec
    readonly project: ProjectId
    /** Columns besides those of the schema. */
    readonly discovered: ReadonlyMap<string, ColumnType>
    readonly firstPlace: number
  }
  readonly columns: readonly (ValueCodec & { readonly name: string; readonly type: ColumnType })[]
  readonly key: readonly string[]
}

/** `onRows`: how many more have been copied, or found equal. Throws `signal.reason`. */
export async function moveRows(
  source: MoveSide,
  target: MoveSide,
  table: Work['table'],
  { signal, onRows }: { readonly signal: AbortSignal; readonly onRows: (rows: number) => void },
): Promise<MovedRows> {
  const key = table.spec.key.filter((name) => name !== 'project_id')
  const work = { source, target, table, key, columns: columnsOf(source, target, table) }
  const write = createWriter(work)
  const digest = createDigest()
  let after: ValueList | null = null
  let isBehindAll = false
  for await (const batch of readRows(work, source)) {
    signal.throwIfAborted()
    const placed = batch.map((row) => placeRow(work, row))
    const forms = placed.map((row) => formOf(work, source.kind, row))
    for (const form of forms) digest.add(form)
    const rows = placed.map((row) => convertRow(work, row))
    const last = keyOf(work, rows.at(-1) ?? [])
    isBehindAll ||= !(await hasRows(work, after))
    if (isBehindAll) await write.insert(rows)
    else if (!(await areEqual(work, after, last, forms))) await write.replace(after, last, rows)
    after = last
    onRows(rows.length)
  }
  const canEnd = after === null || key.length > 0
  if (canEnd && !isBehindAll && (await hasRows(work, after))) await write.replace(after, null, [])
  await write.commit()
  const copied = createDigest()
  for await (const batch of readRows(work, target))
    for (const row of batch) copied.add(formOf(work, target.kind, row))
  const [found, expected] = [copied.end(), digest.end()]
  if (found.digest === expected.digest) return expected
  throw new UserError({
    what: `nothing was moved: the copy of ${table.name} is not the same`,
    why: `it has ${found.rows} rows instead of ${expected.rows}, or other values`,
    next: 'please report this; the warehouse is used where it was',
    exitCode: 1,
  })
}

/** The sum of the hashes of all rows: the target is read in whatever order is fast. */
function createDigest() {
  let sum = 0n
  let rows = 0
  return {
    add: (form: string) => {
      rows += 1
      sum += BigInt(`0x${hash('sha256', form)}`)
    },
    end: (): MovedRows => ({
      rows,
      digest: BigInt.asUintN(256, sum).toString(16).padStart(64, '0'),
    }),
  }
}

function columnsOf({ kind: from }: MoveSide, { kind: to }: MoveSide, table: Work['table']) {
  const described = Object.entries(table.spec.columns).map(
    ([name, [type]]) => [name, plainType[type]] as const,
  )
  return [...described, ...table.discovered].map(([name, type]) => {
    const codec = codecOf(from, to, type)
    const isPacked = table.name === 'message_rows' && name === 'raw' && from !== to
    return { name, type, ...(isPacked ? packed(to, codec) : codec) }
  })
}

/** What SQLite has as `{}`, Postgres has as null; see `messages-view.ts`. */
function packed(to: DatabaseKind, { convert, formOf }: ValueCodec): ValueCodec {
  const [empty, here] = to === 'sqlite' ? [null, '{}'] : ['{}', null]
  return {
    convert: (value) => (value === empty ? here : convert(value)),
    formOf: (kind, value) => formOf(kind, value) ?? '{}',
  }
}

/** With its places in the queue as the target has them. */
function placeRow({ table, columns }: Work, row: ValueList): ValueList {
  const names = placeColumns[table.name]
  if (names === undefined || table.firstPlace === 0) return row
  return row.map((value, n) =>
    names.includes(columns[n]?.name ?? '') && typeof value === 'number'
      ? value + table.firstPlace
      : value,
  )
}

function convertRow(work: Work, row: ValueList): ValueList {
  return work.columns.map(({ name, convert }, n) => {
    const converted = convert(row[n] as Scalar)
    if (converted !== undefined) return converted
    throw unstorable(work, `${name} of the row ${keyOf(work, row).join(' ')} is no time`)
  })
}

function unstorable({ table }: Work, why: string): UserError {
  return new UserError({
    what: `nothing was moved: a row of ${table.name} cannot be stored in the other database`,
    why,
    next: 'correct it by SQL, and run the same command again',
    exitCode: 2,
  })
}

const formOf = ({ columns }: Work, kind: DatabaseKind, row: ValueList): string =>
  JSON.stringify(columns.map((column, n) => column.formOf(kind, row[n] as Scalar)))

function keyOf({ columns, key }: Work, row: ValueList): ValueList {
  return key.map((name) => row[columns.findIndex((column) => column.name === name)])
}

/** A condition of the rows behind one key, up to another. */
function isWithin({ table, key }: Work, from: ValueList | null, to: ValueList | null) {
  const names = sql.join(key.map((name) => sql.id(name)))
  const compare = (operator: '>' | '<=', values: ValueList | null) =>
    key.length === 0 || values === null
      ? sql`true`
      : sql`(${names}) ${sql.raw(operator)} (${sql.join(values)})`
  const isOfProject = hasProject(table.spec) ? sql`project_id = ${table.project}` : sql`true`
  return sql`${isOfProject} and ${compare('>', from)} and ${compare('<=', to)}`
}

/** Postgres's times as text, as the parser of the driver cuts off what is below a second. */
function selectRows(work: Work, where: RawBuilder<unknown>, isOrdered = true) {
  const { source, target, table, columns, key } = work
  const isExact = source.kind === 'postgres' && target.kind === 'postgres'
  const listed = columns.map(({ name, type }) =>
    isExact && /time$/.test(type)
      ? sql`cast(${sql.id(name)} as text) as ${sql.id(name)}`
      : sql.id(name),
  )
  const order =
    key.length === 0 || !isOrdered
      ? sql``
      : sql`order by ${sql.join(key.map((name) => sql.id(name)))}`
  return sql<Readonly<Record<string, unknown>>>`select ${sql.join(listed)}
    from ${sql.table(table.name)} where ${where} ${order}`
}

/** Of the source in the order of the key. */
async function* readRows(work: Work, side: MoveSide) {
  const isSource = side === work.source
  const query = selectRows(work, isWithin(work, null, null), isSource).compile(side.db)
  if (!isSource) await runOn(side.db)(beginSnapshot[side.kind])
  const names = work.columns.map(({ name }) => name)
  yield* batchReader(side.connection)(query.sql, query.parameters, names)
  if (!isSource) await runOn(side.db)('commit')
}

async function hasRows(work: Work, from: ValueList | null): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(work.table.name)}
    where ${isWithin(work, from, null)} limit 1`.execute(work.target.db)
  return rows.length > 0
}

async function areEqual(
  work: Work,
  from: ValueList | null,
  to: ValueList,
  forms: readonly string[],
): Promise<boolean> {
  const { target, columns } = work
  const { rows } = await sql<Readonly<Record<string, unknown>>>`
    ${selectRows(work, isWithin(work, from, to))}
    limit ${sql.lit(forms.length + 1)}`.execute(target.db)
  const found = rows.map((row) => {
    const values = columns.map(({ name }) => row[name])
    return formOf(work, target.kind, values)
  })
  return found.length === forms.length && found.every((form, n) => form === forms[n])
}

/** Rows of a transaction. */
const rowsPerCommit = 10_000

function createWriter(work: Work) {
  const { target, table } = work
  let resume: (() => Promise<void>) | null = null
  let pending = 0
  const begin = async () => {
    if (resume !== null) return
    await runOn(target.db)(beginStatements[target.kind])
    resume = await suspendTriggers(target, [table.name])
  }
  const commit = async () => {
    if (resume === null) return
    await resume()
    await runOn(target.db)('commit')
    resume = null
    pending = 0
  }
  const insert = async (rows: readonly ValueList[]) => {
    await begin()
    await (target.kind === 'sqlite' ? insertInSqlite : insertInPostgres)(work, rows).catch(
      (error: unknown) => {
        const code = errorCode(error)
        if (/^(22|23|SQLITE_(CONSTRAINT|MISMATCH))/.test(code))
          throw unstorable(work, `the database refuses it (${code})`)
        throw error
      },
    )
    pending += rows.length
    if (pending >= rowsPerCommit) await commit()
  }
  const replace = async (
    from: ValueList | null,
    to: ValueList | null,
    rows: readonly ValueList[],
  ) => {
    await begin()
    await sql`delete from ${sql.table(table.name)} where ${isWithin(work, from, to)}`.execute(
      target.db,
    )
    if (rows.length > 0) await insert(rows)
  }
  return { insert, replace, commit }
}

async function insertInSqlite({ target, table, columns }: Work, rows: readonly ValueList[]) {
  const names = columns.map(({ name }) => quoteName(name)).join(', ')
  const row = `(${columns.map(() => '?').join(', ')})`
  let from = 0
  for (const size of rowsPerStatement)
    for (; rows.length - from >= size; from += size) {
      const text =
        `insert into ${quoteName(table.name)} (${names}) values ` +
        `${Array(size).fill(row).join(', ')}`
      await target.connection.run(text, rows.slice(from, from + size).flat())
    }
}

/** An array for each column: the driver and the server take far longer for single parameters. */
async function insertInPostgres({ target, table, columns }: Work, rows: readonly ValueList[]) {
  const names = columns.map(({ name }) => quoteName(name)).join(', ')
  const arrays = columns.map(({ type }, n) => `cast($${n + 1} as ${elementType(type)}[])`)
  const text =
    `insert into ${quoteName(table.name)} (${names}) select * from ` +
    `unnest(${arrays.join(', ')})`
  for (const part of batchesOf(rows, 2000))
    await target.connection.run(
      text,
      columns.map((_, n) => part.map((row) => row[n])),
    )
}

/** In a transaction: rows are stored, and deleted, as they are. */
export async function withoutTriggers<T>(
  { db, kind }: Pick<MoveSide, 'db' | 'kind'>,
  tables: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const resume = await suspendTriggers({ db, kind }, tables)
  const result = await work()
  await resume()
  return result
}

/** Returns what makes the triggers work again. */
async function suspendTriggers(
  { db, kind }: Pick<MoveSide, 'db' | 'kind'>,
  tables: readonly string[],
): Promise<() => Promise<void>> {
  const run = runOn(db)
  const resume: string[] = []
  for (const table of tables) {
    const found = await run(
      kind === 'sqlite'
        ? `select name, sql from sqlite_master where type = 'trigger' and tbl_name = '${table}'`
        : `select tgname as name from pg_trigger where tgrelid = to_regclass('${table}')
            and not tgisinternal and tgenabled = 'O'`,
    )
    for (const { name, sql: definition } of found) {
      const trigger = quoteName(String(name))
      const change = `alter table ${table} enable trigger ${trigger}`
      resume.push(kind === 'sqlite' ? String(definition) : change)
      await run(kind === 'sqlite' ? `drop trigger ${trigger}` : change.replace('enable', 'disable'))
    }
  }
  return async () => {
    for (const statement of resume) await run(statement)
  }
}
