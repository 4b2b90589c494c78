/** The examples of the guide match the program. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyticsSettings } from '../../src/config/analytics-settings.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const page = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8')
const [example = '', ...otherExamples] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  ([, text = '']) => text,
)

test('its example is a valid configuration', () => {
  const folder = createTempFolder()
  mkdirSync(join(folder, 'secrets'))
  for (const name of ['school-key', 'http-token', 'metrics-token'])
    writeFileSync(join(folder, 'secrets', name), `${name}\n`)
  writeFileSync(join(folder, 'deskmirror.yaml'), example.replaceAll('/run/secrets/', 'secrets/'))
  const variables = {
    WAREHOUSE_URL: 'postgres://me:pw@db/mirror',
    QUEUE_URL: 'redis://queue',
    SHOP_API_KEY: 'one',
  }
  const { projects, http, concurrency, warnings } = loadConfig('service', folder, variables)
  expect([http, concurrency, warnings]).toEqual([{ host: '0.0.0.0', port: 8484 }, 80, []])
  expect(
    projects.map(({ name, schedules }) => [name, schedules.incremental, schedules.reconcile.kind]),
  ).toEqual([
    ['shop', { kind: 'every', ms: 30_000 }, 'cron'],
    ['school', { kind: 'every', ms: 120_000 }, 'cron'],
  ])
})

test('its settings of analytics are valid, and all that there are', () => {
  const settings = otherExamples.find((text) => text.startsWith('analytics:')) ?? ''
  const folder = createTempFolder()
  const project = 'base_url: https://api.example.com/v1\nprojects: { shop: { project_id: shop } }\n'
  writeFileSync(join(folder, 'deskmirror.yaml'), `${settings}${project}`)
  const { analytics } = loadConfig('mirror', folder, {}).projects[0]!
  expect([analytics.targets.length, analytics.hours?.[6], analytics.personalData]).toEqual([
    ...[2, [{ opens: 600, closes: 840 }], false],
  ])
  for (const { name } of Object.values(analyticsSettings)) {
    const key = name.replace('analytics.', '')
    expect(settings, key).toContain(`\n  ${key}:`)
  }
})

test('no document names a variable that the program does not know', () => {
  const root = new URL('../..', import.meta.url).pathname
  const documents = globSync(['{README,CONTRIBUTING,CHANGELOG}.md', 'docs/*.md'], { cwd: root })
  const texts = documents.map((path) => readFileSync(`${root}${path}`, 'utf8')).join('\n')
  const named = new Set(texts.match(/DESKMIRROR_(?!TEST_)[A-Z_]+/g))
  const set = Object.fromEntries([...named].map((name) => [name, 'x']))
  const { warnings } = loadConfig('database', tmpdir(), { ...set, ...harmless })
  expect([named.size > 8, warnings]).toEqual([true, []])
})

/** Values for the variables that every command reads. */
const harmless = {
  DESKMIRROR_CONFIG: '',
  DESKMIRROR_DATABASE_URL: 'sqlite:x.db',
  DESKMIRROR_ANALYST_DATABASE_URL: 'sqlite:x.db',
  DESKMIRROR_QUEUE_URL: 'embedded',
  DESKMIRROR_HTTP: 'off',
  DESKMIRROR_CONCURRENCY: '1',
  DESKMIRROR_RETENTION: 'runs=30d',
  DESKMIRROR_READ_ONLY: '0',
  DESKMIRROR_LOG_LEVEL: 'info',
}
