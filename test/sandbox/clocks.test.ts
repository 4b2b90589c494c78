/** Disagreeing clocks, misdated rows, and rows that appear late. */
import { afterEach, expect, test } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { firstRowPaths, sendConforming, sendRequest } from './requests.ts'

let sandbox: Sandbox
afterEach(() => sandbox.stop())

type Row = Record<string, string>
const size = {
  conversations: 30,
  visitors: 20,
  calls: 20,
  messagesPerConversation: 8,
  activityPerVisitor: 8,
}
const [hour, year] = [3600, 31_536_000]
const seconds = (text: string) => Date.parse(text) / 1000

async function startWith(switches: SandboxOptions['switches'] = {}) {
  sandbox = await startSandbox({
    seed: 3,
    speed: 0,
    size,
    switches: { 'rate.kind': 'off', ...switches },
  })
  return firstRowPaths(sandbox)
}

async function listItems(path: string): Promise<Row[]> {
  return (await sendRequest(sandbox, path)).body.data.items
}

test.for([-3600, 600])(
  'all times of rows are shifted by %i seconds, and so are the bounds; `Date` is not',
  async (offset) => {
    const { base, conversation, visitor } = await startWith()
    const paths = {
      listConversations: `${base}/conversations?limit=200`,
      listCalls: `${base}/calls`,
      listMessages: `${conversation}/messages`,
      listActivity: `${visitor}/activity`,
    }
    const readTimes = async () => {
      const times = []
      for (const [id, path] of Object.entries(paths)) {
        const { data } = (await sendConforming(sandbox, id, path)).body
        times.push(
          ...data.items.map((row: Row) =>
            seconds(row.createdAt ?? row.startedAt ?? row.occurredAt!),
          ),
        )
      }
      return times
    }
    const before = await readTimes()
    sandbox.setSwitches({ 'rows.offset': offset })
    expect(await readTimes()).toEqual(before.map((at) => at + offset))
    const all = await listItems(`${base}/conversations?limit=200`)
    expect(
      (await listItems(`${base}/conversations?limit=200&since=${all[20]!.lastMessageAt}`)).map(
        ({ id }) => id,
      ),
    ).toEqual(all.slice(20).map(({ id }) => id))
    expect(Date.parse((await sendRequest(sandbox, paths.listCalls)).headers.get('date')!)).toBe(
      Math.floor(sandbox.now() / 1000) * 1000,
    )
  },
)

test('local time with a Z: rows show it, filters compare the right time', async () => {
  const { base } = await startWith()
  const right = await listItems(`${base}/conversations?limit=200`)
  sandbox.setSwitches({ 'rows.zone': 2 })
  const local = await listItems(`${base}/conversations?limit=200`)
  expect(local.map((row) => seconds(row.lastMessageAt!))).toEqual(
    right.map((row) => seconds(row.lastMessageAt!) + 2 * hour),
  )
  expect(
    (await listItems(`${base}/conversations?limit=200&since=${right[20]!.lastMessageAt}`)).length,
  ).toBe(10)
})

test('the `Date` header can be shifted by any time', async () => {
  const { base } = await startWith({ 'date.offset': -year })
  const { headers } = await sendRequest(sandbox, `${base}/availability`)
  expect(seconds(headers.get('date')!)).toBe(Math.floor(sandbox.now() / 1000) - year)
})

test.for([hour, -hour, year])(
  'some rows of each list are misdated by %i seconds, and ordered by their shown times',
  async (offset) => {
    const { base, visitor } = await startWith({
      'misdated.share': 0.3,
      'misdated.seconds': offset,
      'misdated.of': 'conversations,visitors,calls,activity',
    })
    const lists = { conversations: 'lastMessageAt', visitors: 'lastSeenAt', calls: 'startedAt' }
    for (const [list, field] of Object.entries(lists)) {
      const shown = await listItems(`${base}/${list}?limit=200`)
      sandbox.setSwitches({ 'misdated.share': 0 })
      const right = new Map(
        (await listItems(`${base}/${list}?limit=200`)).map((row) => [row.id, seconds(row[field]!)]),
      )
      sandbox.setSwitches({ 'misdated.share': 0.3 })
      const differences = shown.map((row) => seconds(row[field]!) - right.get(row.id)!)
      expect(new Set(differences)).toEqual(new Set([0, offset]))
      expect(shown.map((row) => row[field])).toEqual(shown.map((row) => row[field]).sort())
    }
    const entries = (await listItems(`${visitor}/activity`)).map((row) => row.occurredAt!)
    expect(entries).toEqual([...entries].sort().reverse())
  },
)

test.for(['latest', 'greatest'] as const)(
  'a message dated in the future: its conversation shows the %s time',
  async (last) => {
    const { base } = await startWith({
      'misdated.share': 0.2,
      'misdated.seconds': hour,
      'misdated.of': 'messages',
      'misdated.last': last,
    })
    let differing = 0
    for (const { id, lastMessageAt } of await listItems(`${base}/conversations?limit=200`)) {
      const times = (await listItems(`/public/conversations/${id}/messages`)).map(
        (row) => row.createdAt!,
      )
      expect(times).toEqual([...times].sort())
      if (last === 'greatest') expect(lastMessageAt).toBe(times.at(-1))
      else if (lastMessageAt !== times.at(-1)) differing += 1
    }
    expect(differing > 0).toBe(last === 'latest')
  },
)

test('a late conversation is first missing, then shown as before, then as it is; by id at once', async () => {
  const { base } = await startWith({ 'late.share': 1, 'late.seconds': 60 })
  sandbox.advance(hour * 1000)
  const { id } = sandbox.mutate.addConversation()
  const listed = async () =>
    (await listItems(`${base}/conversations?limit=200`)).find((row) => row.id === id)
  expect(await listed()).toBeUndefined()
  expect((await sendRequest(sandbox, `/public/conversations/${id}`)).status).toBe(200)
  sandbox.setSwitches({ 'late.byId': true })
  expect((await sendRequest(sandbox, `/public/conversations/${id}`)).status).toBe(404)
  sandbox.advance(60_000)
  const earlier = await listed()
  sandbox.mutate.visitorWrites(id)
  expect(earlier).toBeDefined()
  expect(await listed()).toEqual(earlier)
  sandbox.advance(60_000)
  expect((await listed())!.lastMessageAt! > earlier!.lastMessageAt!).toBe(true)
})

test('late messages: the conversation has their time before they are listed', async () => {
  const { conversation, conversationId } = await startWith({
    'late.share': 1,
    'late.seconds': 90,
    'late.of': 'messages,activity',
  })
  sandbox.advance(hour * 1000)
  const before = await listItems(`${conversation}/messages`)
  const { createdAt } = sandbox.mutate.visitorWrites(conversationId)
  expect(await listItems(`${conversation}/messages`)).toEqual(before)
  expect(seconds((await sendRequest(sandbox, conversation)).body.data.lastMessageAt)).toBe(
    Math.floor(createdAt / 1000),
  )
  sandbox.advance(90_000)
  expect((await listItems(`${conversation}/messages`)).length).toBe(before.length + 1)
})

test('the truth has the shown times, and includes late rows', async () => {
  const { base } = await startWith({
    'rows.offset': 600,
    'misdated.share': 0.5,
    'misdated.of': 'conversations,messages',
    'late.share': 1,
    'late.seconds': 2 * hour,
  })
  sandbox.mutate.addConversation()
  sandbox.setSwitches({ 'late.share': 0 })
  const shown = new Map(
    (await listItems(`${base}/conversations?limit=200`)).map((row) => [row.id, row]),
  )
  sandbox.setSwitches({ 'late.share': 1 })
  expect(new Map([...sandbox.truth('conversations')].map(({ id, row }) => [id, row]))).toEqual(
    shown,
  )
})

test('an unknown kind of row is refused', async () => {
  await startWith()
  expect(() => sandbox.setSwitches({ 'late.of': 'messages,notes' })).toThrow(
    /there are no rows notes/,
  )
  expect(() => sandbox.setSwitches({ 'late.seconds': -1 })).toThrow(RangeError)
  sandbox.setSwitches({ 'misdated.seconds': -60 })
})
