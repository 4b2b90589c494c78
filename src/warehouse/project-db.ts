/** The database as the statements of one project see it. */

import { randomBytes } from 'node:crypto'
import type { RawBuilder } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../schema/column-types.ts'
import type { ProjectId } from '../values/project.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import type { Db } from './connection-pool.ts'
import { typedParameters } from './dialect.ts'
import { noRetry, type WarehouseRetry } from './retry.ts'

export type ProjectDb = {
  /** In a transaction: the transaction. */
  readonly db: Db
  readonly kind: DatabaseKind
  readonly project: ProjectId
  /** For long work that may be repeated. Between the rate limit and a send nothing may wait. */
  readonly retry: WarehouseRetry
  /** In a durable transaction, that of the database; otherwise this machine's. */
  readonly clock: () => EpochMs
  /** A parameter of a column's type. */
  readonly typed: <T>(type: ColumnType, value: T) => RawBuilder<T>
}

export function createProjectDb(
  db: Db,
  kind: DatabaseKind,
  project: ProjectId,
  retry: WarehouseRetry = noRetry,
): ProjectDb {
  return { db, kind, project, retry, clock: Date.now, typed: typedParameters(kind) }
}

/** A parameter with a time; without `ms`, now. */
export function toTimeValue(
  { typed, clock }: ProjectDb,
  ms: EpochMs = clock(),
): RawBuilder<string> {
  return typed('time', toTimestamp(ms))
}

export type OfProject<F> = {
  readonly [N in keyof F]: F[N] extends (context: ProjectDb, ...args: infer A) => infer R
    ? (...args: A) => R
    : never
}

/** The same functions with the project's database as their first argument. */
export function ofProject<
  F extends Record<string, (context: ProjectDb, ...args: never[]) => unknown>,
>(context: ProjectDb, functions: F): OfProject<F> {
  const bound = Object.entries(functions).map(([name, call]) => [name, call.bind(null, context)])
  return Object.fromEntries(bound) as OfProject<F>
}

/** UUID version 7, which ascends with time, as rows are indexed (RFC 9562 §5.7). `at`: ms. */
export function newId(at: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
