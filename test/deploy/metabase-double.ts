/** A small double of Metabase's API on loopback: what deploy/metabase/setup.ts uses of it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { analystObjects } from '../../src/analytics/views/all-views.ts'

type Item = Record<string, unknown> & { id: number }
type Fields = Map<number, Item & { table: string; name: string }>

export type MetabaseDouble = {
  readonly url: string
  /** Every request that changes something, as `METHOD path`. */
  readonly writes: string[]
  readonly databases: Item[]
  readonly collections: Item[]
  readonly cards: Item[]
  readonly dashboards: (Item & { parameters: unknown[]; dashcards: Record<string, unknown>[] })[]
  readonly fields: Fields
  readonly stop: () => Promise<void>
}

/**
 * `answersWithStages`: as newer versions show a card. `emptyPolls`: how often the tables are not
 * there yet.
 */
export async function startMetabaseDouble(
  key: string,
  { answersWithStages = false, emptyPolls = 1 } = {},
): Promise<MetabaseDouble> {
  let lastId = 0
  let polls = 0
  const nextId = () => ++lastId
  const state = {
    writes: [] as string[],
    databases: [] as Item[],
    collections: [] as Item[],
    cards: [] as Item[],
    dashboards: [] as MetabaseDouble['dashboards'],
    fields: createFields(nextId),
  }
  const create = (list: Item[], body: Record<string, unknown>) => {
    const item = { id: nextId(), ...body }
    list.push(item)
    return item
  }
  const idOf = (path: string) => Number(path.split('/')[1])
  const find = <T extends Item>(list: readonly T[], path: string) =>
    list.find(({ id }) => id === idOf(path))

  const routes: readonly [RegExp, (path: string, body: Record<string, unknown>) => unknown][] = [
    [/^GET database$/, () => ({ data: state.databases })],
    [/^POST database$/, (_, body) => create(state.databases, body)],
    [/^POST database\/\d+\/sync_schema$/, () => ({ status: 'ok' })],
    [
      /^GET database\/\d+\/metadata$/,
      () => ({ tables: polls++ < emptyPolls ? [] : tablesOf(state.fields) }),
    ],
    [/^PUT field\/\d+$/, (path, body) => Object.assign(state.fields.get(idOf(path)) ?? {}, body)],
    [/^POST dataset$/, () => ({ data: { rows: [['project 1']] } })],
    [/^GET collection$/, () => [{ id: 'root', name: 'Our analytics' }, ...state.collections]],
    [/^POST collection$/, (_, body) => create(state.collections, body)],
    [
      /^GET collection\/\d+\/items\?models=card&limit=1000$/,
      (path) => ({ data: itemsOf(state.cards, idOf(path)) }),
    ],
    [
      /^GET collection\/\d+\/items\?models=dashboard&limit=1000$/,
      (path) => ({ data: itemsOf(state.dashboards, idOf(path)) }),
    ],
    [/^POST card$/, (_, body) => create(state.cards, body)],
    [/^GET card\/\d+$/, (path) => showCard(find(state.cards, path), answersWithStages)],
    [/^PUT card\/\d+$/, (path, body) => Object.assign(find(state.cards, path) ?? {}, body)],
    [
      /^POST dashboard$/,
      (_, body) => create(state.dashboards, { parameters: [], dashcards: [], ...body }),
    ],
    [/^GET dashboard\/\d+$/, (path) => find(state.dashboards, path)],
    [
      /^PUT dashboard\/\d+$/,
      (path, { parameters, dashcards }) => {
        const ids = (dashcards as Item[]).map((card) => ({
          ...card,
          id: card.id < 0 ? nextId() : card.id,
        }))
        return Object.assign(find(state.dashboards, path) ?? {}, { parameters, dashcards: ids })
      },
    ],
  ]

  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const path = (request.url ?? '').replace(/^\/api\//, '')
    const answer = (status: number, value: unknown) =>
      response.writeHead(status).end(JSON.stringify(value))
    if (request.headers['x-api-key'] !== key) return answer(401, 'Unauthenticated')
    if (request.method !== 'GET' && path !== 'dataset')
      state.writes.push(`${request.method} ${path}`)
    const route = routes.find(([pattern]) => pattern.test(`${request.method} ${path}`))
    const found = route?.[1](path, body)
    return found === undefined
      ? answer(404, `no such thing: ${request.method} ${path}`)
      : answer(200, found)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { ...state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>)
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
}

function createFields(nextId: () => number): Fields {
  const fields = analystObjects.flatMap(({ name: table, columns }) =>
    Object.keys(columns).map((name) => ({
      id: nextId(),
      table,
      name,
      semantic_type: null,
      fk_target_field_id: null,
    })),
  )
  return new Map(fields.map((field) => [field.id, field]))
}

function tablesOf(fields: Fields): unknown {
  const byTable = Map.groupBy(fields.values(), ({ table }) => table)
  return [...byTable].map(([name, list], index) => ({ id: index + 1, name, fields: list }))
}

const itemsOf = (list: readonly Item[], collection: number) =>
  list.filter((item) => item['collection_id'] === collection)

/** With a setting of its own, as Metabase adds some. */
function showCard(card: Item | undefined, withStages: boolean): unknown {
  if (card === undefined) return undefined
  const query = card['dataset_query'] as { database: number; native: { query: string } }
  const settings = { ...(card['visualization_settings'] as object), 'table.columns': null }
  const stages = [{ 'lib/type': 'mbql.stage/native', native: query.native.query }]
  return {
    ...card,
    visualization_settings: settings,
    dataset_query: withStages
      ? { 'lib/type': 'mbql/query', database: query.database, stages }
      : query,
  }
}
