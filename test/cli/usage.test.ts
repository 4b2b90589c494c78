/** The command line before it works: help, usage errors, configuration problems. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createTempFolder } from '../support/temp-folder.ts'
import { runInProcess } from './run-in-process.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const emptyFolder = createTempFolder(afterAll)
const withDotenv = createTempFolder(afterAll)

const commands = [
  'check',
  'sync',
  'writeback',
  'push',
  'start',
  'status',
  'report',
  'verify',
  'export',
  'token',
  'migrate',
  'sandbox',
  'demo',
] as const

describe.concurrent('help', () => {
  test('names every command and the exit codes, on standard output', async () => {
    const { exit, out, err } = await runDeskmirror(['--help'], { cwd: emptyFolder })
    expect([exit, err]).toEqual([0, ''])
    for (const command of commands) expect(out).toMatch(new RegExp(`^  ${command} `, 'm'))
    expect(out).toContain('Exit code: 0 done')
  })

  test.each(commands)('%s --help has examples', async (command) => {
    const { exit, out } = await runInProcess([command, '--help'], { cwd: emptyFolder })
    expect(exit).toBe(0)
    expect(out).toMatch(/\$ (npx )?deskmirror/)
  })

  test('the version is that of the package, with the last migration of its schema', async () => {
    const { exit, out } = await runDeskmirror(['--version'], { cwd: emptyFolder })
    expect([exit, out]).toEqual([
      0,
      expect.stringMatching(/^\d+\.\d+\.\d+ \(schema \d{4}_\w+(, commit [0-9a-f]{12})?\)\n$/),
    ])
  })
})

describe.concurrent('a usage error ends with 2 and lists the options', () => {
  test.each([
    [['synk'], /unknown command 'synk'/],
    [['sync', '--mod', 'full'], /Did you mean --mode/],
    [['sync', '--mode', 'fast'], /Allowed choices are incremental, reconcile, full/],
    [['sync', '--streams', 'messages,letters'], /letters: choose from conversations, messages/],
    [['verify', '--limit', 'many'], /Write a whole number/],
    [['status', 'now'], /too many arguments/],
    [['writeback', 'sheet', '--search', 'x', '--older', '1h'], /cannot be used with .*'--older/],
    [['writeback', 'sheet', '--visitor', 'x', '--unassigned'], /cannot be used with/],
    [['writeback', 'sheet', '--search', 'x', '--visitor', 'y'], /cannot be used with/],
    [[], /Usage: deskmirror/],
  ])('%j', async (args, says) => {
    const { exit, out, err } = await runDeskmirror(args, { cwd: emptyFolder })
    expect([exit, out]).toEqual([2, ''])
    expect(err).toMatch(says)
    expect(err).not.toMatch(/^ {4}at /m)
  })
})

describe.concurrent('a configuration problem ends with 2, one clear message and no stack trace', () => {
  test.each(['sync', 'verify', 'status'])(
    '%s names everything that is missing',
    async (command) => {
      const { exit, out, err } = await runInProcess([command], { cwd: emptyFolder })
      expect([exit, out]).toEqual([2, ''])
      expect(err).toMatch(
        /^deskmirror: the configuration has \d problems\n {2}DESKMIRROR_BASE_URL is missing/,
      )
      expect(err).toContain('deskmirror check')
      expect(err).not.toMatch(/^ {4}at /m)
    },
  )

  test('a project that is not configured is one that init asks for, and check explains what is wrong with another', async () => {
    const { err } = await runInProcess(['sync'], { cwd: emptyFolder })
    expect(err).toMatch(
      /→ `deskmirror init` asks for what is missing and writes it down; `deskmirror check` explains it/,
    )
    const env = {
      DESKMIRROR_BASE_URL: 'https://h/v1',
      DESKMIRROR_PROJECT_ID: 'p',
      DESKMIRROR_API_KEY: 'k',
      DESKMIRROR_RATE: '?',
    }
    const wrong = await runInProcess(['sync'], { cwd: emptyFolder, env })
    expect(wrong.err).toMatch(/→ `deskmirror check` explains/)
  })

  test('check explains on standard output how to get everything', async () => {
    const { exit, out, err } = await runInProcess(['check'], { cwd: emptyFolder })
    expect([exit, err]).toEqual([2, ''])
    for (const word of [
      'DESKMIRROR_API_KEY',
      'Settings > API keys',
      'svc_live_',
      'conversations:read',
      'deskmirror init',
      'demo',
    ]) {
      expect(out).toContain(word)
    }
  })

  test('--json prints one document for a configuration problem', async () => {
    const sync = await runDeskmirror(['sync', '--json'], { cwd: emptyFolder })
    expect(JSON.parse(sync.out)).toMatchObject({
      error: { what: 'the configuration has 3 problems', exitCode: 2 },
    })
    const check = await runDeskmirror(['check', '--json'], { cwd: emptyFolder })
    expect(JSON.parse(check.out).projects[0].items[0]).toMatchObject({
      name: 'DESKMIRROR_BASE_URL',
      state: 'error',
    })
    expect([sync.exit, check.exit]).toEqual([2, 2])
  })

  test('--json prints one document for an option that is gone', async () => {
    const args = ['writeback', 'import', 'a.csv', '--json', '--check']
    const { exit, out, err } = await runDeskmirror(args, { cwd: emptyFolder })
    expect(exit).toBe(2)
    expect(JSON.parse(out)).toMatchObject({
      error: { what: 'the option --check is gone', exitCode: 2 },
    })
    expect(err).toContain('every send looks at the live record first')
  })

  test('--json prints one document for a usage error', async () => {
    const { exit, out } = await runDeskmirror(['sync', '--json', '--streams', 'foo'], {
      cwd: emptyFolder,
    })
    expect(exit).toBe(2)
    expect(JSON.parse(out)).toMatchObject({
      error: { what: 'the command line is invalid', exitCode: 2 },
    })
  })

  test('an unknown project is refused, with the names of the configured ones', async () => {
    const cwd = emptyFolder
    const env = {
      DESKMIRROR_BASE_URL: 'http://localhost:9',
      DESKMIRROR_PROJECT_ID: 'p',
      DESKMIRROR_API_KEY: 'k123',
    }
    const { exit, err } = await runInProcess(['sync', '--project', 'shop'], { cwd, env })
    expect(exit).toBe(2)
    expect(err).toMatch(/there is no project shop: these are known: default/)
  })

  test('.env in the working folder is read', async () => {
    writeFileSync(join(withDotenv, '.env'), 'DESKMIRROR_PROJECT_ID=p\nDESKMIRROR_API_KEY=k123\n')
    const { err } = await runInProcess(['sync'], { cwd: withDotenv })
    expect(err).toMatch(/has a problem: DESKMIRROR_BASE_URL is missing/)
  })
})

describe.concurrent('standard output without a reader', () => {
  test('ends the command silently, with its usual exit code', async () => {
    const child = spawn(process.execPath, [launcher, 'check'], {
      cwd: emptyFolder,
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    const exit = await new Promise((resolve) => child.on('close', resolve))
    expect([exit, err]).toEqual([2, ''])
  })
})
