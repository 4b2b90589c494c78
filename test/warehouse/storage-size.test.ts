/** How large the warehouse is, and what its disk has left. */
import { expect, onTestFinished, test } from 'vitest'
import { parseDatabaseUrl } from '../../src/warehouse/location.ts'
import { readStorage } from '../../src/warehouse/storage-size.ts'
import { databases } from '../support/databases.ts'

test.for(databases)(
  'the size of the warehouse is known, and the space beside a file — $name',
  async ({ name, make }) => {
    const database = await make()
    onTestFinished(() => database.drop())
    const { db } = await database.open()
    const storage = await readStorage(parseDatabaseUrl(database.url ?? ''), db)
    expect(storage.database).toBe(name)
    expect(storage.bytes).toBeGreaterThan(100_000)
    if (name === 'sqlite') expect(storage.freeBytes).toBeGreaterThan(1_000_000)
    else expect(storage.freeBytes).toBeNull()
  },
)
