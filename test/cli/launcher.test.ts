/** The launcher: any Node.js can start it, and what it hands over to another one is handed over whole. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cleanEnvironment, emptyFolder, launcher } from './run-process.ts'

type End = { readonly code: number | null; readonly out: string }

function ended(child: ChildProcess): Promise<End> {
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out })))
}

/** The launcher alone, as an installed package without its own runtime has it, on a Node.js that says it is old. */
function onOldNode(claimed: string): Promise<End> {
  const folder = emptyFolder()
  cpSync(join(launcher, '..'), join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'old.cjs'), `Object.defineProperty(process.versions, 'node', { value: '${claimed}' })`)
  const args = ['--require', join(folder, 'old.cjs'), join(folder, 'bin', 'deskmirror.js'), 'demo']
  return ended(spawn(process.execPath, args, { env: cleanEnvironment() }))
}

test.each(['8.17.0', '20.20.2', '22.18.0'])(
  'Node.js %s without another one: one line says what to install',
  async (claimed) => {
    const { code, out } = await onOldNode(claimed)
    expect(code).toBe(2)
    expect(out).toBe(
      `deskmirror needs Node.js 22.19 or newer, and this is ${claimed}: install it from your system or from nodejs.org\n`,
    )
  },
)

test('a process that may open too few files: one line says so, and what to do', async () => {
  const { code, out } = await ended(
    spawn('sh', ['-c', 'ulimit -n 40; exec "$0" "$1" demo', process.execPath, launcher], { env: cleanEnvironment() }),
  )
  expect(code).toBe(2)
  expect(out).toMatch(/^deskmirror: cannot open enough files: .*\n {2}→ raise the limit: `ulimit -n 1024` .*\n$/)
})

/** Hands a script over to another process, and waits until that says that it is ready. */
async function handedOver(script: string): Promise<{ readonly child: ChildProcess; readonly end: Promise<End> }> {
  const folder = emptyFolder()
  writeFileSync(join(folder, 'child.cjs'), script)
  const call = `require(${JSON.stringify(join(launcher, '..', 'handover.js'))})(process.execPath, [${JSON.stringify(join(folder, 'child.cjs'))}, 'word'])`
  const child = spawn(process.execPath, ['--eval', call], { env: cleanEnvironment() })
  const end = ended(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return { child, end }
}

describe('a newer Node.js takes over', () => {
  test('with the arguments, the streams and the exit code', async () => {
    const { end } = await handedOver("console.log('got ' + process.argv[2]); process.exitCode = 3")
    expect(await end).toEqual({ code: 3, out: 'got word\n' })
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s reaches it', async (signal) => {
    const script = `process.once('${signal}', () => { console.log('stopped'); process.exit(1) }); setInterval(() => {}, 1000); console.log('ready')`
    const { child, end } = await handedOver(script)
    child.kill(signal)
    expect(await end).toEqual({ code: 1, out: 'ready\nstopped\n' })
  })

  test('a launcher that is killed takes it along', async () => {
    const call = `require(${JSON.stringify(join(launcher, '..', 'handover.js'))})(process.execPath, [${JSON.stringify(launcher)}, 'sandbox'])`
    const child = spawn(process.execPath, ['--eval', call], { env: cleanEnvironment() })
    // Their output ends when both are gone.
    const end = ended(child)
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    expect((await end).out).toContain('export DESKMIRROR_BASE_URL=')
  })

  test('one that a signal ended is reported the way a shell does it', async () => {
    const { end } = await handedOver("console.log('ready'); process.kill(process.pid, 'SIGKILL')")
    expect(await end).toEqual({ code: 137, out: 'ready\n' })
  })
})
