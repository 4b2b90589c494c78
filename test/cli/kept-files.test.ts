/**
 * No command writes over the warehouse, what is beside it, its configuration or what it reads,
 * whatever leads there.
 */
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampled } from '../support/sampled.ts'
import { startCliScenario } from './scenario.ts'

const sides = ['-wal', '-shm', '-journal', '-sends', '-worker'].map((end) => `deskmirror.db${end}`)
const rows = (valid: boolean, id: string) =>
  `operation,conversation_id,handled\nhandled,${valid ? id : 'nobody'},true\n`

/** Which the drivers and Node.js read by themselves. The last one does not exist. */
const systemFiles = ['passwords', 'tls.key', 'tls.crt', 'authority.crt', 'more.crt']

/** Each way to write a file, with what it reads in the folder. */
const commands: readonly (readonly string[])[] = [
  ['export', 'visitors', '--format', 'csv', '--output'],
  ['export', 'visitors', '--format', 'sqlite', '--output'],
  ['writeback', 'sheet', '--output'],
  ['writeback', 'sheet', '--template', '--output'],
  ['writeback', 'import', 'right.csv', '--dry-run', '--html'],
  ['writeback', 'import', 'right.csv', '--dry-run', '--csv'],
  ['writeback', 'import', 'wrong.csv', '--mistakes'],
  ['writeback', 'import', 'right.csv', '--mistakes'],
  ['report', '--format', 'html', '--output'],
  ['report', 'deskmirror.db', '--format', 'html', '--output'],
]

async function start(atEnd: (work: () => void | Promise<void>) => void) {
  const d = await startCliScenario(atEnd)
  d.file('right.csv', rows(true, d.conversation(0)))
  d.file('wrong.csv', rows(false, ''))
  d.file('key', d.service.key)
  d.file('.env', 'DESKMIRROR_LOG_LEVEL=warn\nDESKMIRROR_HTTP_TOKEN=t\n')
  const path = (name: string) => join(d.folder, name)
  const state = () =>
    ['deskmirror.db', '.env', 'right.csv', 'wrong.csv', 'key'].map((name) =>
      readFileSync(path(name)).toString('latin1'),
    )
  return { ...d, path, state }
}

describe('with --force, too, a command does not write', () => {
  let d: Awaited<ReturnType<typeof start>>
  let existing: ReadonlySet<string>
  let before: readonly string[]
  beforeAll(async () => {
    d = await start(afterAll)
    linkSync(d.path('deskmirror.db'), d.path('hard'))
    symlinkSync('deskmirror.db', d.path('soft'))
    symlinkSync('.', d.path('folder'))
    mkdirSync(d.path('inner'))
    symlinkSync('deskmirror.db-journal', d.path('dangling'))
    for (const name of systemFiles.slice(0, -1)) writeFileSync(d.path(name), name)
    writeFileSync(d.path('mine'), 'mine')
    symlinkSync('mine', d.path('link'))
    before = d.state()
    existing = new Set(sides.filter((name) => existsSync(d.path(name))))
  })

  for (const [nth, command] of commands.entries())
    test(command.join(' '), async () => {
      const paths: readonly (readonly [string, RegExp])[] = [
        ['deskmirror.db', /it is the warehouse/],
        [d.path('deskmirror.db'), /it is the warehouse/],
        ['inner/../deskmirror.db', /it is the warehouse/],
        ['hard', /it is the warehouse/],
        ['soft', /it is the warehouse/],
        ['missing/../hard', /it is the warehouse/],
        ['missing/../soft', /it is the warehouse/],
        ['folder/deskmirror.db', /it is the warehouse/],
        ...[
          ...sides,
          'folder/deskmirror.db-journal',
          'dangling',
          'DESKMIRROR.DB-journal',
          'hard-wal',
          'inner/../hard-shm',
        ].map((name) => [name, /it belongs to the warehouse/] as const),
        ['.env', /it belongs to the configuration/],
        ['folder/deskmirror.yaml', /it belongs to the configuration/],
        ['key', /it belongs to the configuration/],
        ...systemFiles.map((name) => [name, /it belongs to the configuration/] as const),
        ...(command[1] === 'import'
          ? ([[command[2] ?? '', /the file that is imported/]] as const)
          : []),
      ]
      const env = {
        DESKMIRROR_API_KEY: '',
        DESKMIRROR_API_KEY_FILE: 'key',
        PGPASSFILE: 'passwords',
        PGSSLKEY: 'tls.key',
        PGSSLCERT: d.path('tls.crt'),
        PGSSLROOTCERT: 'authority.crt',
        NODE_EXTRA_CA_CERTS: 'more.crt',
      }
      // Each path is in the sample of some commands, and each command has a fifth of them.
      for (const [path, why] of sampled(paths, (_, index) => index % 5 === nth % 5)) {
        const { exit, err } = await d.run([...command, path, '--force'], { env })
        expect([path, exit, err]).toEqual([path, 2, expect.stringMatching(why)])
      }
      expect(d.state()).toEqual(before)
      for (const name of sides) expect(existsSync(d.path(name))).toBe(existing.has(name))
      // Any other file that exists needs --force.
      for (const path of ['mine', 'missing/../mine', 'missing/../link']) {
        const { exit, err } = await d.run([...command, path], { env })
        expect([path, exit, err]).toEqual([path, 2, expect.stringContaining('the file exists')])
      }
      expect(readFileSync(d.path('mine'), 'utf8')).toBe('mine')
    })
})

test('the password file of a home folder is not written, be the configuration valid or not', async ({
  onTestFinished,
}) => {
  const d = await start(onTestFinished)
  mkdirSync(d.path('home'))
  const report = ['report', 'deskmirror.db', '--format', 'html', '--force', '--output']
  const valid = { HOME: d.path('home') }
  const invalid = { ...valid, DESKMIRROR_LOG_LEVEL: 'loud', DESKMIRROR_API_KEY_FILE: 'key' }
  for (const [name, env] of [
    ['home/.pgpass', valid],
    ['home/.pgpass', invalid],
    ['key', invalid],
  ] as const) {
    const { exit, err } = await d.run([...report, name], { env })
    const why = expect.stringContaining('it belongs to the configuration')
    expect([name, exit, err]).toEqual([name, 2, why])
  }
})

test('standard input that a shell takes from a file is not written over', async ({
  onTestFinished,
}) => {
  const d = await start(onTestFinished)
  const shell = async (input: string) => {
    const { exit, err } = await d.runProgram(
      ['writeback', 'import', input, '--mistakes', 'wrong.csv', '--force'],
      {
        inputFile: d.path('wrong.csv'),
      },
    )
    return [exit, err]
  }
  const inputs = sampled(['-', '/dev/stdin', '/proc/self/fd/0'], (_, index) => index < 2)
  for (const input of inputs)
    expect(await shell(input)).toEqual([
      2,
      expect.stringContaining('it is the file that is imported'),
    ])
  expect(readFileSync(d.path('wrong.csv'), 'utf8')).toBe(rows(false, ''))
})

test('the demo and init keep what is there', async ({ onTestFinished }) => {
  const d = await start(onTestFinished)
  for (const name of sides) {
    const { exit, err } = await d.run(['demo', '--keep', name])
    expect([exit, err]).toEqual([2, expect.stringContaining('it belongs to the warehouse')])
  }
  writeFileSync(d.path('new.db-journal'), 'of another database')
  expect((await d.run(['demo', '--keep', 'new.db'])).err).toContain('new.db-journal exists already')
  const options = ['--base-url', d.service.baseUrl, '--project-id', d.service.projectId]
  const own = await d.run(['init', ...options, '--api-key-file', '.env'])
  expect([own.exit, own.err]).toEqual([
    2,
    expect.stringContaining('cannot write .env: it is the file of the key'),
  ])
})

test('two options of a command do not name one file', async ({ onTestFinished }) => {
  const d = await start(onTestFinished)
  const both = await d.run([
    'writeback',
    'import',
    'right.csv',
    '--dry-run',
    '--html',
    'a',
    '--csv',
    './a',
  ])
  expect([both.exit, both.err]).toEqual([
    2,
    expect.stringContaining('another option names this file, too'),
  ])
})
