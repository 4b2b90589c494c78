/** Where a worker may keep its mirror and its jobs: the three that users have. */

import type { Warehouse } from '../../src/warehouse/open.ts'
import { jobSchema, queueFolder, redisUrl } from '../jobs/places.ts'
import { databases } from '../support/databases.ts'

export type Office = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly open: () => Promise<Warehouse>
  readonly drop: () => Promise<void>
}

export type OfficeKind = { readonly kind: 'embedded' | 'redis' | 'postgres'; readonly make: () => Promise<Office> }

export const offices: readonly OfficeKind[] = [
  { kind: 'embedded', make: laptop },
  { kind: 'redis', make: fleet },
  { kind: 'postgres', make: server },
]

const [sqlite, , postgres] = databases as [(typeof databases)[number], unknown, (typeof databases)[number]]

/** SQLite, and the jobs in a folder beside it. */
async function laptop(): Promise<Office> {
  const place = await sqlite.make()
  await queueFolder(`${place.url!.slice('sqlite:'.length)}-queue`)
  return { databaseUrl: place.url!, queueUrl: 'embedded', open: place.open, drop: place.drop }
}

/** Each test has a database of the Redis to itself; there are sixteen. */
let used = 0

async function fleet(): Promise<Office> {
  const place = await postgres.make()
  used += 1
  return { databaseUrl: place.url!, queueUrl: `${await redisUrl()}/${used}`, open: place.open, drop: place.drop }
}

async function server(): Promise<Office> {
  const place = await postgres.make()
  const jobs = jobSchema()
  const drop = async () => {
    await place.drop()
    await jobs.drop()
  }
  return { databaseUrl: place.url!, queueUrl: jobs.url, open: place.open, drop }
}
