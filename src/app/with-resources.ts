/** What a command works with, open for as long as its work takes, and closed whatever becomes of it. */
import type { Config } from '../config/load.ts'
import type { Logger } from '../log.ts'
import { type WarehouseOptions, openWarehouse, type Warehouse } from '../warehouse/open.ts'
import { type RequestBudgets, openRequestBudgets } from './request-budgets.ts'
import { createWarehouseRetry, type WarehouseRetry, type WarehouseRetryOptions } from './warehouse-retry.ts'
import { retryingWarehouse } from './retrying-warehouse.ts'

export async function withWarehouse<T>(
  { databaseUrl }: Config,
  work: (warehouse: Warehouse) => Promise<T>,
  options: WarehouseOptions = {},
): Promise<T> {
  const warehouse = await openWarehouse(databaseUrl, options)
  try {
    return await work(warehouse)
  } finally {
    await warehouse.close()
  }
}

/** For who changes nothing in it. Throws UserError where nothing was ever mirrored. */
export function withReadOnlyWarehouse<T>(config: Config, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse(config, work, { access: 'read' })
}

/** For what takes long: once it is open, the warehouse may be away for a while. */
export function withWarehouseRetries<T>(
  config: Config,
  { access: use, ...options }: WarehouseRetryOptions & Pick<WarehouseOptions, 'use'>,
  work: (warehouse: Warehouse, warehouseRetry: WarehouseRetry) => Promise<T>,
): Promise<T> {
  const warehouseRetry = createWarehouseRetry(options)
  return withWarehouse(config, (warehouse) => work(retryingWarehouse(warehouse, warehouseRetry), warehouseRetry), use ? { access: use } : {})
}

/** For who needs no mirror: there may be none yet. */
export async function withRequestBudgetsOnly<T>(
  config: Config,
  log: Logger,
  work: (budgets: RequestBudgets) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse(config.databaseUrl, { access: 'read' }).catch(() => null)
  try {
    return await withRequestBudgets(config, warehouse, log, work)
  } finally {
    await warehouse?.close()
  }
}

export async function withRequestBudgets<T>(
  { queueUrl }: Config,
  warehouse: Warehouse | null,
  log: Logger,
  work: (budgets: RequestBudgets) => Promise<T>,
  warehouseRetry?: WarehouseRetry,
): Promise<T> {
  const budgets = await openRequestBudgets(queueUrl, warehouse, log, warehouseRetry)
  try {
    return await work(budgets)
  } finally {
    budgets.close()
  }
}
