/** What a first sync learns of the service is logged once, as it has turned out, and not again. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { withSandbox } from './with-sandbox.ts'

const size = { conversations: 210, visitors: 210, calls: 130, activityPerVisitor: 2, days: 9 }

test('each behaviour is logged once, with the value that is stored, and nothing is logged again', async () => {
  await withSandbox({ size }, async ({ warehouse, sync }) => {
    const lines: { readonly event: string; readonly name: string; readonly value: string }[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const learned = () => lines.filter(({ event }) => event === 'behaviour.learned')
    expect(await sync({ log })).toMatchObject({ outcome: 'complete' })
    const stored = await warehouse.query('select name, value from service_behaviours order by name')
    const logged = learned().map(({ name, value }) => ({ name, value }))
    expect(logged.length).toBeGreaterThan(10)
    const byName = new Map(stored.map(({ name, value }) => [name, value]))
    for (const { name, value } of logged) expect(value, name).toBe(byName.get(name))
    expect(new Set(logged.map(({ name }) => name)).size).toBe(logged.length)
    const before = lines.length
    await sync({ log })
    expect(lines.slice(before).filter(({ event }) => event.startsWith('behaviour'))).toEqual([])
  })
})
