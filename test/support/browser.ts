/**
 * A real Chromium for tests, started once for each test file: the one that DESKMIRROR_TEST_BROWSER
 * names, or the one within the npm package @sparticuz/chromium (Linux on x64), or an installed one.
 */
import { spawnSync } from 'node:child_process'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { type Browser, chromium } from 'playwright-core'
import { ownCache } from './compile-once.ts'
import { makeOnce } from './make-once.ts'

const packageFolder = join(
  dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')),
  '..',
)

export function launchBrowser(): Promise<Browser> {
  return launch(async () => {
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
    const path = join(ownCache, `chromium-${version}`)
    // One process of a run unpacks it, where no earlier run has.
    await makeOnce('chromium-is-unpacked', async (sign) => {
      if (!existsSync(path)) await unpackWhole(path)
      writeFileSync(sign, '')
    })
    return path
  })
}

/** So that nobody finds a half of it, and another run may do the same. */
async function unpackWhole(path: string): Promise<void> {
  const unfinished = `${path}.${process.pid}`
  await unpackInto(unfinished)
  if (existsSync(path)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, path)
}

/** For a program that is no test: unpacks it below this folder. */
export function launchBrowserIn(folder: string): Promise<Browser> {
  return launch(async () => {
    const path = join(folder, 'chromium')
    await unpackInto(path)
    return path
  })
}

type Unpack = () => Promise<string>

async function launch(unpack: Unpack): Promise<Browser> {
  const { program, libraries } = await findBrowser(unpack)
  const env = libraries === null ? process.env : { ...process.env, ...libraries }
  // Within containers there is rarely a user namespace for a sandbox. The pages are our own.
  return chromium.launch({
    executablePath: program,
    args: ['--no-sandbox'],
    timeout: 120_000,
    env: env as Record<string, string>,
  })
}

type FoundBrowser = {
  readonly program: string
  readonly libraries: Readonly<Record<string, string>> | null
}

async function findBrowser(unpack: Unpack): Promise<FoundBrowser> {
  const named = process.env.DESKMIRROR_TEST_BROWSER
  if (named !== undefined && named !== '') return { program: named, libraries: null }
  if (process.platform === 'linux' && process.arch === 'x64') return unpackedBrowser(await unpack())
  const installed = installedPrograms.find((program) => existsSync(program))
  if (installed !== undefined) return { program: installed, libraries: null }
  throw new Error(
    'the tests need Chromium: install it, or name its program in DESKMIRROR_TEST_BROWSER',
  )
}

const installedPrograms = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Its own libraries and fonts, so that a bare system is enough. */
function unpackedBrowser(folder: string): FoundBrowser {
  const libraries = {
    LD_LIBRARY_PATH: join(folder, 'lib'),
    FONTCONFIG_FILE: 'fonts.conf',
    FONTCONFIG_PATH: folder,
  }
  return { program: join(folder, 'chromium'), libraries }
}

async function unpackInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const packed = join(packageFolder, 'bin')
  await decompress(join(packed, 'chromium.br'), join(folder, 'chromium'), 0o755)
  for (const name of ['al2023.tar', 'fonts.tar', 'swiftshader.tar']) {
    await decompress(join(packed, `${name}.br`), join(folder, name), 0o644)
    const { status, stderr } = spawnSync('tar', ['-xf', name], { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${name} could not be unpacked: ${stderr}`)
  }
  writeFileSync(join(folder, 'fonts.conf'), fontSettings)
}

/** The package's own settings name folders that exist only where it is meant to run. */
const fontSettings = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`

async function decompress(from: string, to: string, mode: number): Promise<void> {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode }))
}
