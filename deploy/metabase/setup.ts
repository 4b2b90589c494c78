/**
 * Creates the starter dashboard in Metabase, from dashboard.json: the database, relations between
 * its tables, a collection, the cards and the dashboard. What exists is found by its name, so a
 * second run changes nothing. See docs/analytics.md.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Card, isCurrent, type StoredCard, toCardBody } from './card-body.ts'
import { databaseDetails } from './database-details.ts'
import { createMetabaseApi, type MetabaseApi } from './metabase-api.ts'

type Relation = Readonly<Record<'table' | 'column' | 'target' | 'targetColumn', string>>
type Starter = {
  readonly name: string
  readonly description: string
  readonly parameters: readonly { readonly id: string; readonly slug: string }[]
  readonly cards: readonly Card[]
  readonly relations: readonly Relation[]
}

export type SetupOptions = {
  readonly metabaseUrl: string
  readonly apiKey: string
  /**
   * As Metabase reaches it: `postgres://…` or `sqlite:/path`. Not needed once Metabase knows the
   * database.
   */
  readonly warehouseUrl: string | null
  readonly databaseName: string
  readonly pollMs?: number
  readonly log: (line: string) => void
}

type Named = { readonly id: number; readonly name: string }
type Database = Named & { readonly engine: string }
type Field = Named & {
  readonly semantic_type: string | null
  readonly fk_target_field_id: number | null
}
type Table = Named & { readonly fields: readonly Field[] }
type Step = { readonly api: MetabaseApi; readonly options: SetupOptions; readonly starter: Starter }

const collectionName = 'deskmirror'
const maxPolls = 150

export async function setupMetabase(options: SetupOptions): Promise<void> {
  const warehousePassword =
    options.warehouseUrl === null ? '' : decodeURIComponent(new URL(options.warehouseUrl).password)
  const secrets = warehousePassword === '' ? [] : [warehousePassword]
  const api = createMetabaseApi({ url: options.metabaseUrl, key: options.apiKey, secrets })
  const starter: Starter = JSON.parse(
    readFileSync(new URL('dashboard.json', import.meta.url), 'utf8'),
  )
  const step = { api, options, starter }
  const database = await findOrCreateDatabase(step)
  await relateFields(step, await waitForTables(step, database))
  const collection = await findOrCreateCollection(step)
  const project = await readFirstProject(step, database)
  const cardIds = await updateCards(step, database, collection.id, project)
  await updateDashboard(step, collection.id, cardIds, project)
}

async function findOrCreateDatabase({ api, options }: Step): Promise<Database> {
  const { data } = await api.get<{ readonly data: readonly Database[] }>('database')
  const existing = data.find(({ name }) => name === options.databaseName)
  if (existing !== undefined) return existing
  if (options.warehouseUrl === null) {
    throw new Error(
      `Metabase has no database ${options.databaseName}: set WAREHOUSE_URL_FILE, so that it is created`,
    )
  }
  options.log(`creating the database ${options.databaseName}`)
  return api.post<Database>('database', {
    name: options.databaseName,
    ...databaseDetails(options.warehouseUrl),
  })
}

/** Metabase finds the tables in the background. */
async function waitForTables(
  { api, options, starter }: Step,
  { id }: Database,
): Promise<readonly Table[]> {
  const expected = new Set(starter.relations.flatMap(({ table, target }) => [table, target]))
  for (let poll = 0; poll < maxPolls; poll++) {
    const { tables } = await api.get<{ readonly tables: readonly Table[] }>(
      `database/${id}/metadata`,
    )
    const found = new Set(tables.filter(({ fields }) => fields.length > 0).map(({ name }) => name))
    if ([...expected].every((name) => found.has(name))) return tables
    if (poll === 0) {
      options.log('waiting until Metabase has found the tables')
      await api.post(`database/${id}/sync_schema`, {})
    }
    await sleep(options.pollMs ?? 2000)
  }
  throw new Error(
    'Metabase does not find the tables: can its database user read them? See `deskmirror migrate --grant`',
  )
}

/** Relations that people have set stay as they are. */
async function relateFields(
  { api, options, starter }: Step,
  tables: readonly Table[],
): Promise<void> {
  const fieldOf = (table: string, column: string) =>
    tables.find(({ name }) => name === table)?.fields.find(({ name }) => name === column)
  let changed = 0
  for (const { table, column, target, targetColumn } of starter.relations) {
    const [field, targetField] = [fieldOf(table, column), fieldOf(target, targetColumn)]
    if (field === undefined || targetField === undefined || field.fk_target_field_id !== null)
      continue
    await api.put(`field/${field.id}`, {
      semantic_type: 'type/FK',
      fk_target_field_id: targetField.id,
    })
    changed++
  }
  if (changed > 0) options.log(`related ${changed} columns`)
}

async function findOrCreateCollection({ api, options }: Step): Promise<Named> {
  const collections =
    await api.get<readonly (Named & { readonly archived?: boolean })[]>('collection')
  const existing = collections.find(
    ({ name, archived }) => name === collectionName && archived !== true,
  )
  if (existing !== undefined) return existing
  options.log(`creating the collection ${collectionName}`)
  return api.post<Named>('collection', { name: collectionName })
}

async function listItems(
  api: MetabaseApi,
  collection: number,
  model: 'card' | 'dashboard',
): Promise<readonly Named[]> {
  const path = `collection/${collection}/items?models=${model}&limit=1000`
  return (await api.get<{ readonly data: readonly Named[] }>(path)).data
}

/** Every chart is of one project: this one, until people choose another. */
async function readFirstProject({ api }: Step, { id }: Database): Promise<string> {
  const native = { query: 'select min(project_id) as project_id from dim_project' }
  type Answer = { readonly data: { readonly rows: readonly (readonly unknown[])[] } }
  const { data } = await api.post<Answer>('dataset', { database: id, type: 'native', native })
  const project = data.rows[0]?.[0]
  if (typeof project === 'string') return project
  throw new Error('the warehouse has no project yet: run `deskmirror sync` first')
}

/** The ids of the cards, in their order. */
async function updateCards(
  { api, options, starter }: Step,
  database: Database,
  collection: number,
  project: string,
): Promise<number[]> {
  const engine = database.engine === 'sqlite' ? 'sqlite' : 'postgres'
  const existing = await listItems(api, collection, 'card')
  const ids: number[] = []
  for (const card of starter.cards) {
    const wanted = toCardBody(card, { engine, database: database.id, collection, project })
    const id = existing.find(({ name }) => name === card.name)?.id
    if (id === undefined) {
      options.log(`creating the card ${card.name}`)
      ids.push((await api.post<Named>('card', wanted)).id)
      continue
    }
    if (!isCurrent(wanted, await api.get<StoredCard>(`card/${id}`))) {
      options.log(`updating the card ${card.name}`)
      await api.put(`card/${id}`, wanted)
    }
    ids.push(id)
  }
  return ids
}

type DashboardCard = { readonly id: number; readonly card_id: number | null }
type Dashboard = Named & {
  readonly parameters: readonly { readonly id: string }[]
  readonly dashcards: readonly DashboardCard[]
}

/** Adds what is missing. Cards that people moved or added stay as they are. */
async function updateDashboard(
  { api, options, starter }: Step,
  collection: number,
  cardIds: readonly number[],
  project: string,
): Promise<void> {
  const { name, description, cards } = starter
  const parameters = starter.parameters.map((parameter) =>
    parameter.slug === 'project' ? { ...parameter, default: project } : parameter,
  )
  const existing = (await listItems(api, collection, 'dashboard')).find(
    (dashboard) => dashboard.name === name,
  )
  if (existing === undefined) options.log(`creating the dashboard ${name}`)
  const id =
    existing?.id ??
    (await api.post<Named>('dashboard', { name, description, collection_id: collection })).id
  const stored = await api.get<Dashboard>(`dashboard/${id}`)
  const missingParameters = parameters.filter((parameter) =>
    stored.parameters.every((other) => other.id !== parameter.id),
  )
  const missingCards = cards.flatMap(({ position, parameterMappings }, index) => {
    const card_id = cardIds[index]
    if (card_id === undefined || stored.dashcards.some((other) => other.card_id === card_id))
      return []
    const parameter_mappings = parameterMappings.map((mapping) => ({ ...mapping, card_id }))
    // A negative id is a new one.
    return [
      { id: -1 - index, card_id, ...position, parameter_mappings, visualization_settings: {} },
    ]
  })
  if (missingParameters.length + missingCards.length === 0) return
  await api.put(`dashboard/${id}`, {
    parameters: [...stored.parameters, ...missingParameters],
    dashcards: [...stored.dashcards, ...missingCards],
  })
  options.log(`${options.metabaseUrl.replace(/\/+$/, '')}/dashboard/${id}`)
}

/** The variable, or the file that the variable with `_FILE` names. */
function readVariable(name: string): string | null {
  const file = process.env[`${name}_FILE`]
  return file === undefined ? (process.env[name] ?? null) : readFileSync(file, 'utf8').trim()
}

async function main(): Promise<void> {
  const apiKey = readVariable('METABASE_API_KEY')
  if (apiKey === null || process.argv.length > 2) {
    throw new Error(
      'usage: METABASE_API_KEY_FILE=… [METABASE_URL=…] [WAREHOUSE_URL_FILE=…] node deploy/metabase/setup.ts',
    )
  }
  await setupMetabase({
    apiKey,
    metabaseUrl: process.env['METABASE_URL'] ?? 'http://127.0.0.1:3000',
    warehouseUrl: readVariable('WAREHOUSE_URL'),
    databaseName: process.env['METABASE_DATABASE'] ?? 'deskmirror',
    log: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write('the dashboard is complete\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}
