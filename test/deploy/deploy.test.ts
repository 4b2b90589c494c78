/** The deployment files match the program that they deploy. No container engine is needed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig, unknownVariables } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const yaml = (path: string) => parse(read(path), { merge: true })

type Service = {
  readonly image: string
  readonly command?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly mem_limit?: string
  readonly pids_limit?: number
  readonly logging?: { readonly options: Readonly<Record<string, string>> }
}
type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const compose: Compose = yaml('docker-compose.yml')
const services = Object.entries(compose.services)
const dockerfile = read('Dockerfile')

const folder = createTempFolder(afterAll)
const secret = (name: string) => join(folder, 'secrets', name)
const make = () => execFileSync('sh', [join(folder, 'make-secrets.sh')], { stdio: 'pipe' })

beforeAll(() => {
  cpSync(join(root, 'deploy'), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('/secrets'),
  })
  make()
})

test.each([
  'Dockerfile',
  'docker-compose.yml',
  'deploy/deskmirror.service',
  'deploy/deskmirror-nightly.service',
  'deploy/deskmirror.env.example',
])('%s uses only variables that deskmirror knows', (file) => {
  const names = read(file).match(/DESKMIRROR_[A-Z_]+/g) ?? []
  const variables = Object.fromEntries(names.map((name) => [name, 'set']))
  expect(unknownVariables(variables, new Set())).toEqual([])
})

describe.each(['deskmirror', 'deskmirror-nightly'])('the systemd unit %s', (name) => {
  const unit = read(`deploy/${name}.service`)
  const lines = unit.split('\n')
  const credentials = lines.flatMap(
    (line) => /^LoadCredential=(.+):\/etc\/deskmirror\/(.+)$/.exec(line)?.slice(1) ?? [],
  )

  test('gets a credential for each secret of its example, whose installation the guide shows, and works with it', () => {
    const given = mkdtempSync(join(folder, 'credentials-'))
    for (const credential of new Set(credentials))
      writeFileSync(join(given, credential), 'svc_live_example\n')
    const example = read('deploy/deskmirror.yaml.example')
    writeFileSync(join(given, 'deskmirror.yaml'), example)
    expect(unit).toContain('\nEnvironment=DESKMIRROR_CONFIG=%d/deskmirror.yaml\n')
    expect(unit).toContain('\nEnvironmentFile=-/etc/deskmirror/deskmirror.env\n')
    const variables = parseEnv(read('deploy/deskmirror.env.example'))
    const config = loadConfig('service', folder, {
      ...variables,
      DESKMIRROR_CONFIG: join(given, 'deskmirror.yaml'),
    })
    expect(config.warnings).toEqual([])
    expect(config).toMatchObject({
      databaseUrl: 'sqlite:/var/lib/deskmirror/deskmirror.db',
      queueUrl: 'embedded',
      projects: [{ name: 'shop' }],
    })
    const asked = [...example.matchAll(/^[^#]*\{ file: (.+) \}/gm)].map(([, file = '']) => file)
    for (const file of asked) expect(read('docs/guide.md')).toContain(`/etc/deskmirror/${file}`)
    expect(new Set(credentials)).toEqual(new Set([...asked, 'deskmirror.yaml']))
    expect(credentials).toHaveLength(2 * (asked.length + 1))
  })

  test('keeps what it stores private to its user, as it is data of customers', () => {
    expect(unit).toMatch(/^StateDirectoryMode=0700$[\s\S]*^UMask=0077$/m)
  })

  test('has the rights of the other one', () => {
    const rights = (text: string) => /^User=[\s\S]*^SystemCallErrorNumber=.*$/m.exec(text)?.[0]
    expect(rights(unit)).toBe(rights(read('deploy/deskmirror.service')))
    expect(rights(unit)?.split('\n').length).toBeGreaterThan(25)
  })
})

describe('nightly.sh', () => {
  /**
   * Runs it with a program in the place of deskmirror, which ends with these codes. Returns its
   * code and what it ran.
   */
  function night(...codes: readonly number[]) {
    const own = mkdtempSync(join(folder, 'night-'))
    const program = `#!/bin/sh\necho "$1" >> ran; sed -n "$(wc -l < ran)p" codes > code; exit "$(cat code)"\n`
    writeFileSync(join(own, 'deskmirror'), program, { mode: 0o755 })
    writeFileSync(join(own, 'codes'), codes.join('\n'))
    const env = { PATH: `${own}:${process.env['PATH']}`, NIGHTLY_WAIT: '0' }
    const { status, stderr } = spawnSync('sh', [join(root, 'deploy/nightly.sh')], {
      cwd: own,
      env,
      encoding: 'utf8',
    })
    return {
      status,
      ran: readFileSync(join(own, 'ran'), 'utf8').trim().split('\n').join(' '),
      stderr,
    }
  }

  test('runs all three commands, and ends with the code that matters most', () => {
    const ran = 'sync push report'
    expect(night(0, 0, 0)).toEqual({ status: 0, ran, stderr: '' })
    expect(night(3, 0, 0)).toMatchObject({
      status: 3,
      ran,
      stderr: 'deskmirror sync ended with 3\n',
    })
    expect(night(3, 2, 0)).toMatchObject({ status: 2, ran })
    expect(night(2, 3, 0)).toMatchObject({ status: 2, ran })
  })

  test('repeats what failed twice, and then continues with the rest', () => {
    expect(night(1, 1, 0, 0, 0)).toMatchObject({ status: 0, ran: 'sync sync sync push report' })
    expect(night(1, 1, 1, 3, 0)).toMatchObject({ status: 1, ran: 'sync sync sync push report' })
    expect(night(0, 3, 143)).toMatchObject({ status: 1, ran: 'sync push report' })
  })

  test('is what the unit, the timer and the guide start', () => {
    expect(read('deploy/deskmirror-nightly.service')).toContain(
      'ExecStart=/bin/sh /etc/deskmirror/nightly.sh',
    )
    expect(read('deploy/deskmirror-nightly.timer')).toContain('\nOnCalendar=')
    expect(read('docs/guide.md')).toMatch(/^30 2 \* \* \* .*nightly\.sh/m)
  })
})

describe('the container', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
    paths.split(' '),
  )

  test('is built from files that exist and that the builder receives', () => {
    const included = read('.dockerignore').split('\n')
    expect(copied).toContain('package-lock.json')
    expect(
      copied.filter((path) => !existsSync(join(root, path)) || !included.includes(`!${path}`)),
    ).toEqual([])
    expect(included.find((line) => !line.startsWith('#'))).toBe('*')
  })

  test('contains the program of package.json', () => {
    const { version, bin } = JSON.parse(read('package.json'))
    expect(dockerfile).toContain(`ARG VERSION=${version}`)
    expect(dockerfile).toContain(`ENTRYPOINT ["node", "/app/${bin.deskmirror}"]`)
    expect(compose.services['worker']?.image).toBe(`deskmirror:${version}`)
  })

  test('uses the version of Node.js that the tests use', () => {
    const version = /^ARG NODE=node:([\d.]+)-/m.exec(dockerfile)?.[1]
    expect(JSON.parse(read('package.json')).devDependencies.node).toBe(version)
  })

  test('does not run as root', () => {
    expect(dockerfile.match(/^USER (.+)$/gm)?.at(-1)).toBe('USER node')
  })
})

describe('Kubernetes', () => {
  const file = 'deploy/kubernetes/deskmirror.yaml'
  const objects = parseAllDocuments(read(file)).map((document) => document.toJS())
  const find = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name)

  test('is applied from a file that git keeps, while it ignores the settings of people', () => {
    const paths = ['deskmirror.yaml', 'deploy/config/deskmirror.yaml', file]
    const { stdout } = spawnSync('git', ['check-ignore', ...paths], { cwd: root, encoding: 'utf8' })
    expect(stdout.trim().split('\n')).toEqual(paths.slice(0, 2))
  })

  test('accepts every object: its types know all of their fields, and no other', () => {
    const [types, checked] = [join(root, 'node_modules/kubernetes-types'), createTempFolder()]
    const groups: Readonly<Record<string, string>> = {
      v1: 'core/v1',
      'apps/v1': 'apps/v1',
      'policy/v1': 'policy/v1',
    }
    const lines = objects.map((object, n) => {
      const type = `import('${types}/${groups[object.apiVersion]}').${object.kind}`
      return `export const object${n}: ${type} = ${JSON.stringify(object)}`
    })
    writeFileSync(join(checked, 'objects.ts'), lines.join('\n'))
    const check = () =>
      spawnSync(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '--strict', 'objects.ts'], {
        cwd: checked,
        encoding: 'utf8',
      })
    expect(check().stdout).toBe('')
    const wrong = lines.join('\n').replace('"readOnlyRootFilesystem"', '"readOnlyRootFileSystem"')
    writeFileSync(join(checked, 'objects.ts'), wrong)
    expect(check().stdout).toMatch(/readOnlyRootFileSystem/)
  })

  test('runs one worker, and a fleet beside it only when people want it, both without privileges', () => {
    const { version } = JSON.parse(read('package.json'))
    const worker = find('StatefulSet', 'deskmirror').spec
    const fleet = find('Deployment', 'deskmirror-fleet').spec
    expect([worker.replicas, fleet.replicas]).toEqual([1, 0])
    for (const { template, selector } of [worker, fleet]) {
      const { spec, metadata } = template
      expect(metadata.labels).toMatchObject(selector.matchLabels)
      expect(metadata.labels).toMatchObject(find('Service', 'deskmirror').spec.selector)
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      const [container] = spec.containers
      expect(container).toMatchObject({
        image: `deskmirror:${version}`,
        resources: { limits: { memory: '1Gi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      })
      const claims = worker.volumeClaimTemplates.map(
        (claim: { metadata: { name: string } }) => claim.metadata.name,
      )
      const volumes = [...spec.volumes.map(({ name }: { name: string }) => name), ...claims]
      for (const { name } of container.volumeMounts) expect(volumes).toContain(name)
    }
  })

  test('has settings that the program accepts, with the secrets that its first lines create', () => {
    const { data } = find('ConfigMap', 'deskmirror')
    const created = [...read(file).matchAll(/--from-file=([\w-]+)/g)].map(([, name]) => name)
    for (const [name, more] of [
      ['deskmirror.yaml', []],
      ['fleet.yaml', ['warehouse-url', 'queue-url']],
    ] as const) {
      const given = mkdtempSync(join(folder, 'kubernetes-'))
      for (const secretName of created)
        writeFileSync(join(given, secretName!), 'a-token-of-32-characters-or-more')
      writeFileSync(join(given, 'warehouse-url'), 'postgres://deskmirror@db/deskmirror')
      writeFileSync(join(given, 'queue-url'), 'redis://redis')
      const settings: string = data[name]
      writeFileSync(join(given, name), settings.replaceAll('/run/secrets', given))
      const config = loadConfig('service', given, { DESKMIRROR_CONFIG: join(given, name) })
      expect(config.warnings).toEqual([])
      const asked = [...settings.matchAll(/file: \/run\/secrets\/([\w-]+)/g)].map(([, one]) => one)
      expect(new Set(asked)).toEqual(new Set([...created, ...more]))
    }
  })
})

describe('the fleet', () => {
  const images = [
    /^ARG NODE=(.+)$/m.exec(dockerfile)?.[1] ?? '',
    ...services.map(([, { image }]) => image),
  ]

  test('is pinned to exact versions', () => {
    expect(images.filter((image) => !/:v?\d+\.\d+\.\d+|:\d+\.\d+-/.test(image))).toEqual([])
  })

  test('pulls no image by a movable tag alone; docs/guide.md names the exceptions', () => {
    const pulled = images.filter((image) => !image.startsWith('deskmirror:'))
    const floating = pulled.filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image))
    expect(floating).toEqual(['metabase/metabase:v0.64.2.2', 'grafana/grafana:12.3.1'])
    for (const image of floating) expect(read('docs/guide.md')).toContain(image)
  })

  test('mounts only files that exist or that make-secrets.sh creates', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume) => volume.split(':')[0] ?? ''),
    )
    const paths = [...mounted, ...Object.values(compose.secrets).map(({ file }) => file)].filter(
      (path) => /^\./.test(path),
    )
    expect(paths).toContain('./deploy/alerts.yml')
    expect(
      paths.filter((path) => !existsSync(join(folder, path.replace('./deploy/', '')))),
    ).toEqual([])
  })

  test('shows the dashboard in Grafana, by a data source that the dashboard names', () => {
    for (const kind of ['postgres', 'sqlite']) {
      const folder = `deploy/grafana/${kind}`
      const [source] = yaml(`${folder}/provisioning/datasources/warehouse.yaml`).datasources
      const [provider] = yaml(`${folder}/provisioning/dashboards/support.yaml`).providers
      const { panels, templating } = JSON.parse(read(`${folder}/dashboards/support.json`))
      const used = [...panels, ...templating.list].map(({ datasource }) => datasource)
      expect(new Set(used.map(({ uid, type }) => `${uid} ${type}`))).toEqual(
        new Set([`${source.uid} ${source.type}`]),
      )
      if (kind === 'sqlite') continue
      const { volumes } = compose.services['grafana'] ?? {}
      expect(volumes).toContain(`./${folder}/provisioning:/etc/grafana/provisioning:ro`)
      expect(volumes).toContain(`./${folder}/dashboards:${provider.options.path}:ro`)
      expect(source.secureJsonData.password).toContain('/run/secrets/analyst-password')
      expect(read('deploy/postgres/roles.sql')).toContain(`create role ${source.user} login`)
    }
  })

  test('can be reached from this machine only', () => {
    const ports = services.flatMap(([, { ports = [] }]) => ports)
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(compose.services['postgres']?.networks).toEqual(['inside'])
  })

  test('lets only workers reach Redis, and only with its password', () => {
    const { command = [], networks = [] } = compose.services['redis'] ?? {}
    const others = services.filter(([, service]) =>
      service.networks.some((name) => networks.includes(name)),
    )
    expect(others.map(([name]) => name)).toEqual(['worker', 'board', 'redis'])
    expect(command.join(' ')).toContain('requirepass %s')
    const password = readFileSync(secret('redis-password'), 'utf8')
    expect(readFileSync(secret('worker/queue-url'), 'utf8')).toBe(`redis://:${password}@redis:6379`)
    expect(yaml('deploy/config/deskmirror.yaml.example').queue_url).toEqual({
      file: '/run/secrets/queue-url',
    })
  })

  test('limits the memory, the processes and the logs of each container', () => {
    const unlimited = services.filter(
      ([, { mem_limit: memory, pids_limit: processes, logging }]) =>
        memory === undefined ||
        processes === undefined ||
        logging?.options['max-size'] === undefined,
    )
    expect(unlimited.map(([name]) => name)).toEqual([])
  })

  test('gives workers no privileges, and a read-only file system', () => {
    for (const name of ['worker', 'board'])
      expect(compose.services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  })

  test('has a Redis that evicts nothing', () => {
    const { command = [] } = compose.services['redis'] ?? {}
    expect(command.join(' ')).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/)
  })

  test('is monitored by the alert rules, under the name that they expect', () => {
    const { rule_files: rules, scrape_configs: jobs } = yaml('deploy/prometheus.yml')
    expect(rules).toEqual(['alerts.yml'])
    expect(jobs[0].job_name).toBe('deskmirror')
    expect(read('deploy/alerts.yml')).toContain(`up{job="${jobs[0].job_name}"}`)
    expect(compose.services['prometheus']?.volumes).toContain(
      './deploy/alerts.yml:/etc/prometheus/alerts.yml:ro',
    )
  })

  test('works with its example configuration and the generated secrets', () => {
    const example = read('deploy/config/deskmirror.yaml.example').replaceAll(
      '/run/secrets',
      secret('worker'),
    )
    writeFileSync(secret('worker/shop-key'), 'svc_live_example\n')
    writeFileSync(join(folder, 'deskmirror.yaml'), example)
    const config = loadConfig('service', folder, {})
    expect(config.warnings).toEqual([])
    expect(config.httpToken?.reveal()).toHaveLength(48)
    expect(new URL(config.databaseUrl).password).toBe(
      readFileSync(secret('warehouse-password'), 'utf8'),
    )
    expect(new URL(config.queueUrl).hostname in compose.services).toBe(true)
    expect(new URL(config.databaseUrl).hostname in compose.services).toBe(true)
  })

  test('keeps existing secrets, in a folder that other users cannot enter', () => {
    const before = readFileSync(secret('warehouse-password'), 'utf8')
    make()
    expect(readFileSync(secret('warehouse-password'), 'utf8')).toBe(before)
    expect(statSync(secret('')).mode & 0o777).toBe(0o700)
    expect(statSync(secret('worker/http-token')).mode & 0o777).toBe(0o644)
  })
})
