/** The settings of the whole program: the warehouse, the queue, the HTTP address, the log. */
import { z } from 'zod'
import { passwordsIn } from '../core/server-url.ts'
import * as field from './fields.ts'
import type { Mistake } from './mistakes.ts'
import { onDemand, secretField, secretReference, type Unread } from './secret-fields.ts'
import type { Config } from './settings.ts'
import type { Part, Settings, Sources } from './sources.ts'
import { mistakesOf, placeIn, record } from './sources.ts'
import { globalsOf, variableOf } from './variables.ts'

export type Globals = Omit<Config, 'projects' | 'warnings'>

/** The token is read when somebody asks for it: only the worker does. */
const fieldsWith = ({ readSecret }: Sources) => ({
  database_url: field.databaseUrl.default('sqlite:deskmirror.db'),
  queue_url: field.queueUrl.default('embedded'),
  http: field.httpAddress.default({ host: '127.0.0.1', port: 8484 }),
  http_token: secretField(onDemand(readSecret)).optional(),
  concurrency: field.concurrency.default(40),
  read_only: field.flag.default(false),
  log_level: field.logLevel.default('info'),
})

/** `written`: the lines of the file's top level that are no defaults of projects. A variable wins over such a line. */
export function readGlobals(sources: Sources, written: Settings): Part<Globals> {
  const fromVariables = globalsOf(sources.variables)
  const addresses = Object.entries(written).filter(([key]) => key.endsWith('_url') && !(key in fromVariables))
  const read = addresses.map(([key, value]) => [key, dereferenced(sources, value)] as const)
  const unread = read.flatMap(([key, found]) => ('why' in found ? [{ where: placeIn(sources, [key]), ...found }] : []))
  if (unread.length > 0) return { value: null, mistakes: unread }
  const referenced = Object.fromEntries(read.flatMap(([key, found]) => ('value' in found ? [[key, found.value]] : [])))
  const values = { ...written, ...referenced, ...fromVariables }
  const where = (key: string) => (key in fromVariables ? variableOf(key) : placeIn(sources, [key]))
  const parsed = z.strictObject(fieldsWith(sources)).safeParse(values)
  const mistakes = passwords(sources, written)
  if (!parsed.success) return { value: null, mistakes: [...mistakes, ...mistakesOf(parsed.error, values, where)] }
  const { database_url, queue_url, http, http_token, concurrency, read_only, log_level } = parsed.data
  const value = {
    databaseUrl: database_url,
    queueUrl: queue_url,
    http,
    httpToken: http_token ?? null,
    concurrency,
    readOnly: read_only,
    logLevel: log_level,
    logLevelChosen: 'log_level' in values,
  }
  return { value, mistakes }
}

/** The address of a server may carry a password, so in the file it may be a reference like every other secret. */
function dereferenced(sources: Sources, value: unknown): { readonly value: unknown } | Unread {
  if (record(value) === null) return { value }
  const reference = secretReference.safeParse(value).data
  if (reference === undefined) return { why: 'is not a reference: write { env: NAME } or { file: PATH }' }
  const found = sources.readSecret(reference)
  return 'why' in found ? found : { value: found[0].reveal() }
}

function passwords(sources: Sources, written: Settings): Mistake[] {
  const why = 'carries a password: keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'
  return Object.entries(written)
    .filter(([, value]) => typeof value === 'string' && carriesPassword(value))
    .map(([key]) => ({ where: placeIn(sources, [key]), why }))
}

/** Also one that no URL can hold as it is, because of a `/` or a blank in it. */
function carriesPassword(text: string): boolean {
  const user = text.slice(text.indexOf('://') + 3, Math.max(0, text.lastIndexOf('@')))
  return (text.includes('://') && user.includes(':')) || passwordsIn(text).length > 0
}
