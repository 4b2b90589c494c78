/** The query plans of a sync with nothing new: SQLite looks rows up, and reads no large table whole. */
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { databases } from '../support/databases.ts'
import { syncOnce } from './sync-sandbox.ts'

/** The tables that grow with the project. */
const large = /(?:SCAN|SEARCH) (?:messages|conversations|sync_children|visitors|calls|visitor_activity)\b.*/
const byProjectOnly = /^SEARCH \w+ USING (?:COVERING )?INDEX sqlite_autoindex_\w+ \(project_id=\?(?: AND stream=\?)?\)/

/** The texts of all statements that are prepared while `work` runs. */
async function preparedBy(work: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const { prepare } = Database.prototype
  const texts = new Set<string>()
  Database.prototype.prepare = function (this: Database.Database, text: string) {
    texts.add(text)
    return prepare.call(this, text)
  } as typeof prepare
  try {
    await work()
  } finally {
    Database.prototype.prepare = prepare
  }
  return texts
}

test('a sync with nothing new reads no large table whole', async () => {
  const place = await databases[0]!.make()
  onTestFinished(place.drop)
  const size = { conversations: 1200, visitors: 300, calls: 200, messagesPerConversation: [20, 20], days: 2 } as const
  const sandbox = await startSandbox({ seed: 3, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  await syncOnce(place.url!, sandbox)
  const texts = await preparedBy(() => syncOnce(place.url!, sandbox))
  const file = new Database(place.url!.slice('sqlite:'.length), { readonly: true })
  onTestFinished(() => void file.close())
  file.function('machine_ms', () => 0)
  const asked = [...texts].filter((text) => /^\s*(?:select|update|delete|with|insert)/i.test(text))
  expect(asked.length).toBeGreaterThan(30)
  const whole = asked.flatMap((text) => {
    const plan = file.prepare(`explain query plan ${text}`)
    const rows = plan.all(...Array.from({ length: text.split('?').length - 1 }, () => 'x')) as { detail: string }[]
    const found = rows.filter(
      ({ detail }) => large.test(detail) && (/^SCAN/.test(detail) || byProjectOnly.test(detail)),
    )
    return found.map(({ detail }) => `${detail} — ${text.replace(/\s+/g, ' ').trim()}`)
  })
  expect(whole).toEqual([])
})
