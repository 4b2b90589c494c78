/**
 * Copies the rows of a table of one project in the order of their key, so that the target tells how
 * far an interrupted move came. Rows that are there are compared batch by batch and replaced where
 * they differ. Then the target is read, and the digests are compared.
 */

import { hash } from 'node:crypto'
import { type ColumnType, type DatabaseKind, plainType } from '../../../schema/column-types.ts'
import { type Run, runOn } from '../../../schema/create-missing.ts'
import { hasProject, placeColumns } from '../../../schema/moved-tables.ts'
import type { TableSpec } from '../../../schema/tables.ts'
import type { Scalar } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { UserError } from '../../values/user-error.ts'
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
  readonly run: Run
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

/** A condition of the rows behind one key, up to another, and its parameters. */
function rangeOf(
  { table, key }: Work,
  { kind }: MoveSide,
  from: ValueList | null,
  to: ValueList | null,
) {
  const parameters: unknown[] = []
  const add = (value: unknown) => {
    parameters.push(value)
    return kind === 'sqlite' ? '?' : `$${parameters.length}`
  }
  const conditions = hasProject(table.spec) ? [`project_id = ${add(table.project)}`] : []
  const names = key.map(quoteName).join(', ')
  const compare = (operator: string, values: ValueList) =>
    conditions.push(`(${names}) ${operator} (${values.map(add).join(', ')})`)
  if (key.length > 0 && from !== null) compare('>', from)
  if (key.length > 0 && to !== null) compare('<=', to)
  return { where: conditions.length === 0 ? 'true' : conditions.join(' and '), parameters }
}

/** Postgres's times as text, as the parser of the driver cuts off what is below a second. */
function queryOf(work: Work, where: string, isOrdered = true): string {
  const isExact = work.source.kind === 'postgres' && work.target.kind === 'postgres'
  const listed = work.columns.map(({ name, type }) => {
    const column = quoteName(name)
    return isExact && /time$/.test(type) ? `cast(${column} as text) as ${column}` : column
  })
  const order =
    work.key.length === 0 || !isOrdered ? '' : `order by ${work.key.map(quoteName).join(', ')}`
  return `select ${listed.join(', ')} from ${quoteName(work.table.name)} where ${where} ${order}`
}

/** Of the source in the order of the key. */
async function* readRows(work: Work, side: MoveSide) {
  const isSource = side === work.source
  const { where, parameters } = rangeOf(work, side, null, null)
  const text = queryOf(work, where, isSource)
  if (!isSource) await side.run(beginSnapshot[side.kind])
  const names = work.columns.map(({ name }) => name)
  yield* batchReader(side.connection)(text, parameters, names)
  if (!isSource) await side.run('commit')
}

async function hasRows(work: Work, from: ValueList | null): Promise<boolean> {
  const { target, table } = work
  const { where, parameters } = rangeOf(work, target, from, null)
  const text = `select 1 from ${quoteName(table.name)} where ${where} limit 1`
  return (await target.connection.run(text, parameters)).rows.length > 0
}

async function areEqual(
  work: Work,
  from: ValueList | null,
  to: ValueList,
  forms: readonly string[],
): Promise<boolean> {
  const { target, columns } = work
  const { where, parameters } = rangeOf(work, target, from, to)
  const text = `${queryOf(work, where)} limit ${forms.length + 1}`
  const { rows } = await target.connection.run(text, parameters)
  const found = (rows as readonly Readonly<Record<string, unknown>>[]).map((row) =>
    formOf(
      work,
      target.kind,
      columns.map(({ name }) => row[name]),
    ),
  )
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
    await target.run(beginStatements[target.kind])
    resume = await suspendTriggers(target, [table.name])
  }
  const commit = async () => {
    if (resume === null) return
    await resume()
    await target.run('commit')
    resume = null
    pending = 0
  }
  const insert = async (rows: readonly ValueList[]) => {
    await begin()
    await (target.kind === 'sqlite' ? insertInSqlite : insertInPostgres)(work, rows).catch(
      (error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : ''
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
    const { where, parameters } = rangeOf(work, target, from, to)
    await target.connection.run(`delete from ${quoteName(table.name)} where ${where}`, parameters)
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
  const resume = await suspendTriggers({ kind, run: runOn(db) }, tables)
  const result = await work()
  await resume()
  return result
}

/** Returns what makes the triggers work again. */
async function suspendTriggers(
  { kind, run }: Pick<MoveSide, 'kind' | 'run'>,
  tables: readonly string[],
): Promise<() => Promise<void>> {
  const resume: string[] = []
  for (const table of tables) {
    const found = await run(
      kind === 'sqlite'
        ? `select name, sql from sqlite_master where type = 'trigger' and tbl_name = '${table}'`
        : `select tgname as name from pg_trigger where tgrelid = to_regclass('${table}')
            and not tgisinternal and tgenabled = 'O'`,
    )
    for (const { name, sql } of found) {
      const trigger = quoteName(String(name))
      const change = `alter table ${table} enable trigger ${trigger}`
      resume.push(kind === 'sqlite' ? String(sql) : change)
      await run(kind === 'sqlite' ? `drop trigger ${trigger}` : change.replace('enable', 'disable'))
    }
  }
  return async () => {
    for (const statement of resume) await run(statement)
  }
}
