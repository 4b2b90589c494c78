/** Opens the resources of a command while its work runs, and closes them afterwards. */
import type { Config } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { WarehouseOptions } from '../warehouse/open-database.ts'
import { openWarehouse, type Warehouse } from './open.ts'
import { openRequestBudgets, type RequestBudgets } from './request-budgets.ts'
import {
  createWarehouseRetry,
  retryingWarehouse,
  type WarehouseRetry,
  type WarehouseRetryOptions,
} from './warehouse-retry.ts'

/** Where the warehouse is, and the setting that says so, for errors. */
export type DatabaseAddress = Pick<Config, 'databaseUrl' | 'databaseSetting'>

export async function withWarehouse<T>(
  { databaseUrl, databaseSetting: setting }: DatabaseAddress,
  work: (warehouse: Warehouse) => Promise<T>,
  options: WarehouseOptions = {},
): Promise<T> {
  const warehouse = await openWarehouse(databaseUrl, { ...options, setting })
  try {
    return await work(warehouse)
  } finally {
    await warehouse.close()
  }
}

/** For long work: once the warehouse is open, it may be away for a while. */
export function withWarehouseRetries<T>(
  address: DatabaseAddress,
  { access, ...options }: WarehouseRetryOptions & Pick<WarehouseOptions, 'access'>,
  work: (warehouse: Warehouse, warehouseRetry: WarehouseRetry) => Promise<T>,
): Promise<T> {
  const retry = createWarehouseRetry(options)
  return withWarehouse(
    address,
    (warehouse) => work(retryingWarehouse(warehouse, retry), retry),
    access ? { access } : {},
  )
}

/** For commands that need no mirror: there may be none yet. */
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
    await budgets.close()
  }
}
