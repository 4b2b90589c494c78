/** A running console over a mirror in an SQLite file, and clients for it. */

import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { defaultConfig, defaultProject, type ProjectConfig } from '../../../src/config/config.ts'
import type { Role } from '../../../src/config/people.ts'
import { openConsoleReads } from '../../../src/console/reads.ts'
import { consolePlugin } from '../../../src/console/routes/routes.ts'
import type { ConsolePerson } from '../../../src/console/routes/session.ts'
import type { ConsoleOptions } from '../../../src/console/routes/site.ts'
import { createAttempts } from '../../../src/http/auth.ts'
import { openHttpServer } from '../../../src/http/server.ts'
import { secret } from '../../../src/values/secret.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { ask, captureLog, type TestRequest, type TestResponse } from '../../http/test-server.ts'
import { type DatabaseInstance, databases } from '../../support/databases.ts'
import { commitRows, conversation, message } from '../../warehouse/row-fixtures.ts'

/** The token of each person is `NAME-token`. */
export const person = (name: string, role: Role, hidesMessages = false): ConsolePerson => ({
  name,
  role,
  hidesMessages,
  token: secret(`${name}-token`),
})

export const people = [
  person('vera', 'viewer'),
  person('olga', 'operator'),
  person('ann', 'approver'),
]

const projectWith = (settings: Partial<ProjectConfig>) =>
  defaultProject({
    name: 'main',
    projectId: 'main',
    baseUrl: new URL('https://api.example.com/v1'),
    apiKey: secret('svc_live_none'),
    ...settings,
  })

export type TestConsole = Awaited<ReturnType<typeof startConsole>>

type Overrides = Partial<Pick<ConsoleOptions, 'access' | 'isReadOnly' | 'now'>> & {
  /** Of the project. */
  readonly settings?: Partial<ProjectConfig>
  /** DESKMIRROR_READ_ONLY */
  readonly readOnly?: boolean
  /** Another one, over whose warehouse this one is, too. */
  readonly beside?: { readonly database: DatabaseInstance }
  readonly end?: (close: () => Promise<void>) => void
}

/** Puts rows into the mirror. */
type Fill = (warehouse: Warehouse, project: ProjectConfig) => Promise<unknown>

/** Visitors wrote, and wait for an answer. */
export async function letWait(warehouse: Warehouse, project: ProjectConfig, ...ids: string[]) {
  await commitRows(openMirror(warehouse, 'main'), {
    conversations: ids.map((id) => conversation(id)),
    messages: ids.map((id) => message(id, 1, { sender_type: 'visitor' })),
  })
  await createProjectFacts(warehouse.projectDb('main'), project).refresh()
}

/** One console for all tests of the file. It has its members when the first of them begins. */
export function useConsole(fill: Fill): TestConsole {
  const shared: Partial<TestConsole> = {}
  const closers: (() => Promise<void>)[] = []
  beforeAll(
    async () =>
      void Object.assign(
        shared,
        await startConsole(fill, { end: (close) => void closers.push(close) }),
      ),
  )
  afterAll(async () => {
    for (const close of closers) await close()
  })
  return shared as TestConsole
}

export async function startConsole(fill: Fill, over: Overrides = {}) {
  const {
    end = onTestFinished,
    access = { people: () => people, httpToken: null },
    isReadOnly = false,
    now = Date.now,
    settings = {},
    readOnly = false,
  } = over
  const database = over.beside?.database ?? (await databases[0]!.make())
  const warehouse = await database.open()
  const project = projectWith(settings)
  await fill(warehouse, project)
  const reads = openConsoleReads({ databaseUrl: database.url ?? '' }, now)
  const config = defaultConfig({ projects: [project], databaseUrl: database.url ?? '' })
  const { log, lines } = captureLog()
  const attempts = createAttempts()
  const plugin = consolePlugin({
    reads,
    access,
    attempts,
    isReadOnly,
    log,
    now,
    store: createAuditLog(warehouse.db),
    config: () => (readOnly || isReadOnly ? null : config),
    projects: async () => [project],
  })
  const health = { isAlive: () => true, checkReadiness: async () => [] }
  const http = await openHttpServer({
    host: '127.0.0.1',
    port: 0,
    token: null,
    health,
    metrics: null,
    plugins: [{ prefix: '/console', auth: 'own', load: async () => plugin }],
    log,
  })
  const closeHttp = async () => http.close()
  end(async () => {
    await closeHttp()
    await reads.close()
    if (over.beside === undefined) await database.drop()
  })
  /** Again, while numbers are counted or rows are read that a page does not wait for. */
  const request: Ask = async (path, options) => {
    const answer = await ask(http.address + path, options)
    return /data-counting|is still being read/.test(answer.text) ? request(path, options) : answer
  }
  return {
    ...http,
    database,
    config,
    project,
    warehouse,
    lines,
    ask: request,
    signIn: (name: string) => signIn(request, name),
    /** A page of the project, or what else the path leads to, as this person gets it. */
    get: async (path: string, name: string) =>
      request(`/console/p/main/${path}`, { headers: { cookie: await signIn(request, name) } }),
  }
}

type Ask = (path: string, options?: TestRequest) => Promise<TestResponse>

/** As a browser does. */
export const ownForm = {
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/x-www-form-urlencoded',
}

export const formBody = (fields: Record<string, string>): string =>
  new URLSearchParams(fields).toString()

/** What a browser would send of the fields whose names match. */
export function fieldsOf(text: string, names: string): Record<string, string> {
  const fields = new RegExp(`name="(${names})"[^>]* value="([^"]*)"`, 'g')
  const found = [...text.matchAll(fields)]
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]))
}

export function cookieOf({ headers }: TestResponse): string {
  const [cookie = ''] = [headers['set-cookie'] ?? ''].flat()
  return cookie.split(';')[0] ?? ''
}

async function signIn(request: Ask, name: string): Promise<string> {
  const body = formBody({ name, token: `${name}-token` })
  const response = await request('/console/sign-in', { method: 'POST', headers: ownForm, body })
  if (response.status !== 303) throw new Error(`${name} could not sign in: ${response.status}`)
  return cookieOf(response)
}
