/** deploy/metabase/setup.ts creates the starter dashboard once, whatever is there already. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { setupMetabase } from '../../deploy/metabase/setup.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { startMetabaseDouble } from './metabase-double.ts'

const root = new URL('../..', import.meta.url).pathname
const folder = createTempFolder(afterAll)
const key = 'mb_secret_key'
const postgresUrl = 'postgres://analyst:p%40ss@db.example:6543/mirror?sslmode=verify-full'

async function start(options?: Parameters<typeof startMetabaseDouble>[1]) {
  const metabase = await startMetabaseDouble(key, options)
  onTestFinished(() => metabase.stop())
  const lines: string[] = []
  const setup = (warehouseUrl: string | null = postgresUrl, apiKey = key) =>
    setupMetabase({
      metabaseUrl: `${metabase.url}/`,
      apiKey,
      warehouseUrl,
      databaseName: 'deskmirror',
      pollMs: 1,
      log: (line) => lines.push(line),
    })
  return { metabase, setup, lines }
}

for (const answersWithStages of [false, true]) {
  test(`a second run changes nothing${answersWithStages ? ', also where cards are shown by stages' : ''}`, async () => {
    const { metabase, setup } = await start({ answersWithStages })
    await setup()
    expect(metabase.writes.length).toBeGreaterThan(10)
    expect(
      [metabase.databases, metabase.collections, metabase.dashboards].map(({ length }) => length),
    ).toEqual([1, 1, 1])
    expect(metabase.cards).toHaveLength(8)
    metabase.writes.length = 0
    await setup(null)
    expect(metabase.writes).toEqual([])
  })
}

test('the database is described as Metabase connects to it, and its password appears in no line', async () => {
  const { metabase, setup, lines } = await start()
  await setup()
  expect(metabase.databases[0]).toMatchObject({
    engine: 'postgres',
    details: {
      host: 'db.example',
      port: 6543,
      dbname: 'mirror',
      user: 'analyst',
      password: 'p@ss',
      ssl: true,
    },
  })
  expect(lines.join('\n')).not.toMatch(/p@ss|mb_secret/)
})

test('in SQLite the cards have the SQL of SQLite', async () => {
  const { metabase, setup } = await start()
  await setup('sqlite:/data/layer.db')
  expect(metabase.databases[0]).toMatchObject({
    engine: 'sqlite',
    details: { db: '/data/layer.db' },
  })
  expect(JSON.stringify(metabase.cards)).toContain("date('now', '-90 days')")
})

test('each card is on the dashboard, and each of its variables is a filter of it', async () => {
  const { metabase, setup } = await start()
  await setup()
  const [dashboard] = metabase.dashboards
  const filters = dashboard?.parameters.map((parameter) => (parameter as { id: string }).id)
  expect(dashboard?.dashcards.map(({ card_id }) => card_id)).toEqual(
    metabase.cards.map(({ id }) => id),
  )
  expect(dashboard?.parameters).toContainEqual(
    expect.objectContaining({ slug: 'project', default: 'project 1' }),
  )
  for (const card of metabase.cards) {
    const { native } = card['dataset_query'] as {
      native: { query: string; 'template-tags': object }
    }
    expect(native['template-tags']).toMatchObject({
      project: { required: true, default: 'project 1' },
    })
    const variables = new Set([...native.query.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name))
    expect([...variables].sort()).toEqual(Object.keys(native['template-tags']).sort())
    const mappings = dashboard?.dashcards.find(({ card_id }) => card_id === card.id)?.[
      'parameter_mappings'
    ]
    expect(
      (mappings as { parameter_id: string }[]).map(({ parameter_id }) =>
        filters?.includes(parameter_id),
      ),
    ).toEqual([...variables].map(() => true))
  }
})

test('columns are related to the keys that they lead to, except where people related them', async () => {
  const { metabase, setup } = await start()
  const field = (table: string, name: string) =>
    [...metabase.fields.values()].find((other) => other.table === table && other.name === name)!
  Object.assign(field('fct_visit', 'visitor_id'), { fk_target_field_id: 1 })
  await setup()
  const target = field('fct_conversation', 'conversation_id').id
  expect(field('fct_wait', 'conversation_id')).toMatchObject({
    semantic_type: 'type/FK',
    fk_target_field_id: target,
  })
  expect(field('fct_visit', 'visitor_id')).toMatchObject({
    semantic_type: null,
    fk_target_field_id: 1,
  })
})

test('a card that differs is brought up to date, and what people added to the dashboard stays', async () => {
  const { metabase, setup } = await start()
  await setup()
  Object.assign(metabase.cards[2]!, { description: 'of an older version' })
  metabase.dashboards[0]?.dashcards.push({ id: 900, card_id: null, row: 99 })
  metabase.dashboards[0]?.dashcards.shift()
  metabase.writes.length = 0
  await setup()
  expect(metabase.writes).toEqual([
    `PUT card/${metabase.cards[2]!.id}`,
    `PUT dashboard/${metabase.dashboards[0]?.id}`,
  ])
  expect(metabase.dashboards[0]?.dashcards.map(({ card_id }) => card_id)).toEqual([
    ...metabase.cards.slice(1).map(({ id }) => id),
    null,
    metabase.cards[0]?.id,
  ])
})

test('errors name the request, and neither the key nor the password', async () => {
  const { setup } = await start()
  await expect(setup(postgresUrl, 'a wrong key')).rejects.toThrow(
    /GET http:\S+\/api\/database answered 401/,
  )
  await expect(setup(null)).rejects.toThrow('set WAREHOUSE_URL_FILE')
})

test('as a command it reads the key from a file, and takes no arguments', async () => {
  const { metabase } = await start({ emptyPolls: 0 })
  writeFileSync(join(folder, 'key'), `${key}\n`)
  writeFileSync(join(folder, 'warehouse'), postgresUrl)
  const env = {
    PATH: process.env['PATH'],
    METABASE_URL: metabase.url,
    METABASE_API_KEY_FILE: join(folder, 'key'),
    WAREHOUSE_URL_FILE: join(folder, 'warehouse'),
  }
  expect(await run([], env)).toMatchObject({
    exit: 0,
    out: expect.stringContaining('the dashboard is complete'),
  })
  expect(await run(['--key', key], env)).toMatchObject({
    exit: 1,
    out: expect.stringMatching(/^usage: /),
  })
})

async function run(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [join(root, 'deploy/metabase/setup.ts'), ...args], { env })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (out += String(data)))
  const [exit] = await once(child, 'close')
  return { exit, out }
}
