/** Opens the warehouse of a command while its work runs, and closes it afterwards. */
import type { Config } from '../config/config.ts'
import type { WarehouseOptions } from '../warehouse/open-database.ts'
import { createWarehouseRetry, type WarehouseRetryOptions } from '../warehouse/retry.ts'
import { type OpenOptions, openWarehouse, type Warehouse } from './open.ts'

/** Where the warehouse is, and the setting that says so, for errors. */
export type DatabaseAddress = Pick<Config, 'databaseUrl' | 'databaseSetting'>

export async function withWarehouse<T>(
  { databaseUrl, databaseSetting: setting }: DatabaseAddress,
  work: (warehouse: Warehouse) => Promise<T>,
  options: OpenOptions = {},
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
  { access = 'write', ...options }: WarehouseRetryOptions & Pick<WarehouseOptions, 'access'>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return withWarehouse(address, work, { access, retry: createWarehouseRetry(options) })
}
