/** The configuration page matches the program. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? ''

test('its example is a valid configuration', () => {
  const folder = createTempFolder()
  mkdirSync(join(folder, 'secrets'))
  for (const name of ['school-key', 'http-token']) writeFileSync(join(folder, 'secrets', name), `${name}\n`)
  writeFileSync(join(folder, 'deskmirror.yaml'), example.replaceAll('/run/secrets/', 'secrets/'))
  const variables = {
    WAREHOUSE_URL: 'postgres://me:pw@db/mirror',
    QUEUE_URL: 'redis://queue',
    SHOP_API_KEY: 'one',
    ARCHIVE_API_KEY: 'two',
  }
  const { projects, http, concurrency, warnings } = loadConfig('service', folder, variables)
  expect([http, concurrency, warnings]).toEqual([{ host: '0.0.0.0', port: 8484 }, 80, []])
  expect(projects.map(({ name, schedules }) => [name, schedules.incremental, schedules.reconcile.kind])).toEqual([
    ['shop', { kind: 'every', ms: 30_000 }, 'cron'],
    ['school', { kind: 'every', ms: 120_000 }, 'cron'],
    ['archive', { kind: 'cron', pattern: '*/15 7-19 * * mon-fri' }, 'off'],
  ])
})

test('it names no variable that the program does not know', () => {
  const named = new Set(page.match(/DESKMIRROR_[A-Z_]+/g))
  const set = Object.fromEntries([...named].map((name) => [name, 'x']))
  const { warnings } = loadConfig('database', tmpdir(), { ...set, ...harmless })
  expect([named.size > 15, warnings]).toEqual([true, []])
})

/** Values for the variables that every command reads. */
const harmless = {
  DESKMIRROR_CONFIG: '',
  DESKMIRROR_DATABASE_URL: 'sqlite:x.db',
  DESKMIRROR_QUEUE_URL: 'embedded',
  DESKMIRROR_HTTP: 'off',
  DESKMIRROR_CONCURRENCY: '1',
  DESKMIRROR_READ_ONLY: '0',
  DESKMIRROR_LOG_LEVEL: 'info',
}
