/**
 * Containers without an engine: `runc` runs what the Dockerfile and an entry of docker-compose.yml
 * say. Their image has the files of the packed package, and instead of the base image the system
 * files of this machine, which it cannot change. Containers share the network of this machine.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { packPackage } from './install-package.ts'
import { installRunc } from './install-servers.ts'
import { findProgram } from './private-server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The user `node` of the base image. */
const users: Readonly<Record<string, number>> = { root: 0, node: 1000 }

export type Image = {
  readonly folder: string
  readonly rootFolder: string
  /** What the Dockerfile sets, as its last lines leave it. */
  workingFolder: string
  user: number
  readonly environment: Record<string, string>
  entrypoint: readonly string[]
  command: readonly string[]
  stopSignal: string
  healthcheck: readonly string[]
}

/**
 * The last stage of the Dockerfile. Another instruction than these is not known here, and throws.
 */
export async function buildImage(folder: string): Promise<Image> {
  const files = join(folder, 'package')
  execFileSync('tar', ['xzf', await packPackage(folder), '-C', folder])
  const image: Image = {
    folder,
    rootFolder: join(folder, 'root'),
    workingFolder: '/',
    user: 0,
    environment: {},
    entrypoint: [],
    command: [],
    stopSignal: 'SIGTERM',
    healthcheck: [],
  }
  makeBaseImage(image.rootFolder)
  for (const [name, rest] of lastStage()) await follow(image, files, name, rest)
  return image
}

function lastStage(): readonly (readonly [name: string, rest: string])[] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
  const lines = text.slice(text.lastIndexOf('\nFROM ') + 1).split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => [line.split(' ')[0] ?? '', line.replace(/^\S+ /, '')])
}

/** `files`: those of the stages before, which are those of the package. */
async function follow(image: Image, files: string, name: string, rest: string): Promise<void> {
  const inImage = (path: string) => join(image.rootFolder, resolve(image.workingFolder, path))
  switch (name) {
    case 'FROM':
    case 'ARG':
    case 'LABEL':
    // The engine mounts something there, or nothing.
    case 'VOLUME':
      return
    case 'ENV': {
      const [key = '', value = ''] = rest.split('=')
      image.environment[key] = value
      return
    }
    case 'WORKDIR':
      image.workingFolder = rest
      mkdirSync(inImage('.'), { recursive: true })
      return
    case 'COPY': {
      const paths = rest.split(' ').filter((part) => !part.startsWith('--from='))
      const target = paths.at(-1) ?? ''
      for (const path of paths.slice(0, -1)) {
        const from = path.replace(/^\/build\//, '')
        const to = target.endsWith('/') ? join(target, from) : target
        cpSync(join(files, from), inImage(to), { recursive: true })
      }
      execFileSync('chown', ['-R', `${image.user}:${image.user}`, inImage('.')])
      return
    }
    case 'RUN': {
      const args = ['/bin/sh', '-c', rest]
      const options = { args, readOnly: false, capabilities: engineDefaults }
      // It ends by itself.
      const { ended, output } = await startContainer(image, options, () => {})
      if ((await ended) !== 0) throw new Error(`RUN ${rest} failed: ${output()}`)
      return
    }
    case 'USER':
      image.user = users[rest] ?? Number(rest)
      return
    case 'ENTRYPOINT':
      image.entrypoint = JSON.parse(rest)
      return
    case 'CMD':
      image.command = JSON.parse(rest)
      return
    case 'STOPSIGNAL':
      image.stopSignal = rest
      return
    case 'HEALTHCHECK':
      image.healthcheck = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4))
      return
    default:
      throw new Error(`the test of containers does not know ${name} of the Dockerfile`)
  }
}

function makeBaseImage(folder: string): void {
  for (const path of ['etc', 'usr', 'opt/node', 'proc', 'dev', 'tmp', 'run', 'var/tmp'])
    mkdirSync(join(folder, path), { recursive: true })
  for (const path of ['tmp', 'var/tmp']) chmodSync(join(folder, path), 0o1777)
  const entries = Object.entries(users)
  const passwords = entries.map(([name, id]) => `${name}:x:${id}:${id}::/${name}:/bin/sh\n`)
  writeFileSync(join(folder, 'etc/passwd'), passwords.join(''))
  writeFileSync(
    join(folder, 'etc/group'),
    entries.map(([name, id]) => `${name}:x:${id}:\n`).join(''),
  )
  for (const name of systemFolders) {
    const isLink = lstatSync(`/${name}`, { throwIfNoEntry: false })?.isSymbolicLink() === true
    if (isLink) symlinkSync(readlinkSync(`/${name}`), join(folder, name))
  }
}

/** On Debian they are links into /usr. */
const systemFolders = ['bin', 'sbin', 'lib', 'lib64']

/** What an engine leaves to root in a container that drops nothing. */
const engineDefaults = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_SETGID',
  'CAP_SETUID',
]

export type ContainerOptions = {
  /** Of the image, unless they are here. */
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly readOnly: boolean
  readonly capabilities: readonly string[]
  readonly noNewPrivileges?: boolean
  /** `/data`, or `/data:uid=1000`. */
  readonly tmpfs?: readonly string[]
  /** `FOLDER:/path`, or `FOLDER:/path:ro`. */
  readonly volumes?: readonly string[]
  readonly memoryBytes?: number
  readonly processes?: number
}

let started = 0

/** `atEnd` ends it. `output`: both streams so far. `ended`: the exit code. */
export async function startContainer(
  image: Image,
  options: ContainerOptions,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
) {
  const runc =
    findProgram('runc', ['/usr/sbin', '/usr/bin']) ??
    (await installRunc(() => findProgram('runc', ['/usr/sbin'])))
  started += 1
  const id = `deskmirror-test-${process.pid}-${started}`
  const bundle = join(image.folder, id)
  mkdirSync(bundle)
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(toRuntimeConfig(image, options)))
  const state = join(image.folder, 'runc')
  const child = spawn(runc, ['--root', state, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const run = (...args: readonly string[]) =>
    execFileSync(runc, ['--root', state, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  atEnd(async () => {
    if (child.exitCode === null) run('kill', id, 'KILL')
    await ended
  })
  return {
    ended,
    output: () => text,
    /**
     * As its user, like `docker exec`. Returns standard output; throws if it does not end with 0.
     */
    exec: (...args: readonly string[]) => run('exec', id, ...args),
    stop: () => void run('kill', id, image.stopSignal),
  }
}

function toRuntimeConfig(image: Image, options: ContainerOptions) {
  const { capabilities, tmpfs = [], volumes = [], memoryBytes, processes } = options
  const environment = {
    PATH: '/opt/node:/usr/bin:/bin',
    ...image.environment,
    ...options.environment,
  }
  const sets = ['bounding', 'effective', 'permitted'].map((set) => [set, capabilities])
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: image.user, gid: image.user },
      args: options.args ?? [...image.entrypoint, ...image.command],
      env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      cwd: image.workingFolder,
      capabilities: Object.fromEntries(sets),
      noNewPrivileges: options.noNewPrivileges ?? false,
    },
    root: { path: image.rootFolder, readonly: options.readOnly },
    hostname: 'container',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'mode=755', 'size=64m'],
      },
      ...systemMounts(),
      // The options that an engine sets; the mode is that of the folder below.
      ...tmpfs.map((entry) => {
        const [destination = '', own = ''] = entry.split(':')
        const given = own === '' ? [] : own.split(',')
        return {
          destination,
          type: 'tmpfs',
          source: 'tmpfs',
          options: ['noexec', 'nosuid', 'nodev', ...given],
        }
      }),
      ...volumes.map((volume) => {
        const [source = '', destination = '', mode = 'rw'] = volume.split(':')
        return { destination, type: 'bind', source, options: ['rbind', mode] }
      }),
    ],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      resources: {
        ...(memoryBytes === undefined ? {} : { memory: { limit: memoryBytes } }),
        ...(processes === undefined ? {} : { pids: { limit: processes } }),
      },
    },
  }
}

function systemMounts() {
  const folders = systemFolders.filter((name) =>
    lstatSync(`/${name}`, { throwIfNoEntry: false })?.isDirectory(),
  )
  const paths = ['/usr', ...folders.map((name) => `/${name}`)]
  const mounted = [
    ...paths.map((path) => [path, path] as const),
    [dirname(process.execPath), '/opt/node'] as const,
  ]
  return mounted.map(([source, destination]) => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'ro'],
  }))
}

/** An entry of docker-compose.yml. */
export type ComposeService = Readonly<Record<string, unknown>> & {
  readonly environment: Readonly<Record<string, string>>
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly tmpfs: readonly string[]
  readonly volumes: readonly string[]
  readonly mem_limit: string
  readonly pids_limit: number
  readonly stop_grace_period: string
}

/** `folder`: that of docker-compose.yml, to which paths are relative. */
export function containerOf(service: ComposeService, folder: string): ContainerOptions {
  const gigabytes = /^(\d+)g$/.exec(service.mem_limit)?.[1]
  return {
    environment: service.environment,
    readOnly: service.read_only,
    capabilities: service.cap_drop.includes('ALL') ? [] : engineDefaults,
    noNewPrivileges: service.security_opt.includes('no-new-privileges:true'),
    tmpfs: service.tmpfs,
    volumes: service.volumes.map((volume) => (isAbsolute(volume) ? volume : join(folder, volume))),
    memoryBytes: Number(gigabytes) * 1024 ** 3,
    processes: service.pids_limit,
  }
}
