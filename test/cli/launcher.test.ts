/**
 * The launcher: any Node.js can start it, and it passes everything on to the Node.js that runs the
 * program.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTempFolder } from '../support/temp-folder.ts'
import { cleanEnvironment, launcher } from './run-process.ts'

type End = { readonly code: number | null; readonly out: string }

function waitForEnd(child: ChildProcess): Promise<End> {
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

/**
 * Runs the launcher alone, as in a package without its own runtime, on a Node.js that claims to be
 * old.
 */
function startOnOldNode(claimed: string, folder = createTempFolder()) {
  cpSync(join(launcher, '..'), join(folder, 'bin'), { recursive: true })
  writeFileSync(
    join(folder, 'old.cjs'),
    `Object.defineProperty(process.versions, 'node', { value: '${claimed}' })`,
  )
  const args = ['--require', join(folder, 'old.cjs'), join(folder, 'bin', 'deskmirror.js'), 'demo']
  const child = spawn(process.execPath, args, { env: cleanEnvironment() })
  return { child, end: waitForEnd(child) }
}

test.each(['8.17.0', '20.20.2', '22.18.0'])(
  'Node.js %s without another one: one line explains what to install',
  async (claimed) => {
    const { code, out } = await startOnOldNode(claimed).end
    expect(code).toBe(2)
    expect(out).toBe(
      `deskmirror needs Node.js 22.19 or newer, and this is ${claimed}: install it from your system or from nodejs.org\n`,
    )
  },
)

test('a Node.js that is too old, but can become another program, becomes the bundled one', async () => {
  const folder = createTempFolder()
  const bundled = join(folder, 'node_modules', 'node', 'bin', 'node')
  mkdirSync(dirname(bundled), { recursive: true })
  writeFileSync(bundled, '#!/bin/sh\necho "process $$ runs $(basename "$1") $2"; exit 3\n', {
    mode: 0o755,
  })
  const { child, end } = startOnOldNode('22.18.0', folder)
  expect(await end).toEqual({ code: 3, out: `process ${child.pid} runs deskmirror.js demo\n` })
})

test('a process that may open too few files: one line explains what to do', async () => {
  const { code, out } = await waitForEnd(
    spawn('sh', ['-c', 'ulimit -n 40; exec "$0" "$1" demo', process.execPath, launcher], {
      env: cleanEnvironment(),
    }),
  )
  expect(code).toBe(2)
  expect(out).toMatch(
    /^deskmirror: cannot open enough files: .*\n {2}→ raise the limit: `ulimit -n 1024` .*\n$/,
  )
})

test.each(['a package', 'a checkout'])(
  '%s keeps no compiled code where other users could put theirs',
  async (kind) => {
    const shared = createTempFolder()
    const program = kind === 'a checkout' ? launcher : copyAsPackage()
    const env = { ...cleanEnvironment(), TMPDIR: shared, TMP: shared, TEMP: shared }
    expect(
      await waitForEnd(spawn(process.execPath, [program, '--version'], { env })),
    ).toMatchObject({ code: 0 })
    expect(readdirSync(shared)).toEqual([])
  },
)

/** The launcher of a package whose program only ends. */
function copyAsPackage(): string {
  const folder = createTempFolder()
  cpSync(join(launcher, '..'), join(folder, 'bin'), { recursive: true })
  mkdirSync(join(folder, 'dist', 'src', 'cli'), { recursive: true })
  writeFileSync(join(folder, 'dist', 'src', 'cli', 'main.js'), 'process.exitCode = 0')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return join(folder, 'bin', 'deskmirror.js')
}

/** Runs a script through the launcher in another process, and waits until that is ready. */
async function runBundled(
  script: string,
): Promise<{ readonly child: ChildProcess; readonly end: Promise<End> }> {
  const folder = createTempFolder()
  writeFileSync(join(folder, 'child.cjs'), script)
  const call = `require(${JSON.stringify(join(launcher, '..', 'run-bundled-node.js'))})(process.execPath, [${JSON.stringify(join(folder, 'child.cjs'))}, 'word'])`
  const child = spawn(process.execPath, ['--eval', call], { env: cleanEnvironment() })
  const end = waitForEnd(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return { child, end }
}

describe('a newer Node.js runs the program', () => {
  test('with the arguments, the streams and the exit code', async () => {
    const { end } = await runBundled("console.log('got ' + process.argv[2]); process.exitCode = 3")
    expect(await end).toEqual({ code: 3, out: 'got word\n' })
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s is forwarded to it', async (signal) => {
    const script = `process.once('${signal}', () => { console.log('stopped'); process.exit(1) }); setInterval(() => {}, 1000); console.log('ready')`
    const { child, end } = await runBundled(script)
    child.kill(signal)
    expect(await end).toEqual({ code: 1, out: 'ready\nstopped\n' })
  })

  test('it ends when the launcher is killed', async () => {
    const call = `require(${JSON.stringify(join(launcher, '..', 'run-bundled-node.js'))})(process.execPath, [${JSON.stringify(launcher)}, 'sandbox'])`
    const child = spawn(process.execPath, ['--eval', call], { env: cleanEnvironment() })
    // The output ends when both processes have ended.
    const end = waitForEnd(child)
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    expect((await end).out).toContain('export DESKMIRROR_BASE_URL=')
  })

  test('its end by a signal is reported as shells do', async () => {
    const { end } = await runBundled("console.log('ready'); process.kill(process.pid, 'SIGKILL')")
    expect(await end).toEqual({ code: 137, out: 'ready\n' })
  })
})
