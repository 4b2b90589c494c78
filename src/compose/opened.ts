/** What a command works with, open for as long as its work takes, and closed whatever becomes of it. */
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { type OpenOptions, openWarehouse, type Warehouse } from '../warehouse/open.ts'
import { type Budgets, openBudgets } from './budgets.ts'
import { createPatience, type Patience, type PatienceOptions } from './patience.ts'
import { patientWarehouse } from './patient.ts'

export async function withWarehouse<T>(
  { databaseUrl }: Config,
  work: (warehouse: Warehouse) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const warehouse = await openWarehouse(databaseUrl, options)
  try {
    return await work(warehouse)
  } finally {
    await warehouse.close()
  }
}

/** For who changes nothing in it. Throws UserError where nothing was ever mirrored. */
export function withMirror<T>(config: Config, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse(config, work, { use: 'read' })
}

/** For what takes long: once it is open, the warehouse may be away for a while. */
export function withPatience<T>(
  config: Config,
  { use, ...options }: PatienceOptions & Pick<OpenOptions, 'use'>,
  work: (warehouse: Warehouse, patience: Patience) => Promise<T>,
): Promise<T> {
  const patience = createPatience(options)
  return withWarehouse(config, (warehouse) => work(patientWarehouse(warehouse, patience), patience), use ? { use } : {})
}

/** For who needs no mirror: there may be none yet. */
export async function withBudgetsAlone<T>(
  config: Config,
  log: Logger,
  work: (budgets: Budgets) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse(config.databaseUrl, { use: 'read' }).catch(() => null)
  try {
    return await withBudgets(config, warehouse, log, work)
  } finally {
    await warehouse?.close()
  }
}

export async function withBudgets<T>(
  { queueUrl }: Config,
  warehouse: Warehouse | null,
  log: Logger,
  work: (budgets: Budgets) => Promise<T>,
  patience?: Patience,
): Promise<T> {
  const budgets = await openBudgets(queueUrl, warehouse, log, patience)
  try {
    return await work(budgets)
  } finally {
    budgets.close()
  }
}
