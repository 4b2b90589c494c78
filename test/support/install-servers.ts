/** Installs programs that tests need on Debian as root, without starting a server of the system. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'

type FindProgram = () => string | undefined

export async function installPostgres(find: FindProgram): Promise<string> {
  requireDebian(
    'PostgreSQL 13 or later (Debian: apt-get install postgresql)',
    'DESKMIRROR_TEST_POSTGRES_URL',
  )
  withoutServices(() => {
    install('postgresql-common')
    withoutMainCluster(() => install('postgresql'))
  })
  return requireProgram(find, 'initdb')
}

export async function installRedis(find: FindProgram): Promise<string> {
  requireDebian(
    'Redis 7 or later (Debian: apt-get install redis-server)',
    'DESKMIRROR_TEST_REDIS_URL',
  )
  withoutServices(() => install('redis-server'))
  return requireProgram(find, 'redis-server')
}

/** Runs containers, without an engine. */
export async function installRunc(find: FindProgram): Promise<string> {
  requireDebian('runc (Debian: apt-get install runc)', null)
  install('runc')
  return requireProgram(find, 'runc')
}

/** `variable` null: there is no server that could be named instead. */
function requireDebian(what: string, variable: string | null): void {
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) return
  const other =
    variable === null ? ' and run them as root' : `, or name a running server in ${variable}`
  throw new Error(`the tests need ${what}: install it${other}`)
}

function requireProgram(find: FindProgram, name: string): string {
  const program = find()
  if (program === undefined)
    throw new Error(`${name} is missing although its package was installed`)
  return program
}

function install(name: string): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', name]]) {
    const { status, stderr } = spawnSync('apt-get', ['-qq', ...args], { env, encoding: 'utf8' })
    if (status !== 0)
      throw new Error(`apt-get ${args.join(' ')} failed; install ${name} by hand:\n${stderr}`)
  }
}

/** Debian asks this script whether a freshly installed service may start. Status 101 = no. */
const policyScript = '/usr/sbin/policy-rc.d'

function withoutServices(work: () => void): void {
  const hadPolicy = existsSync(policyScript)
  if (hadPolicy) renameSync(policyScript, `${policyScript}.deskmirror`)
  writeFileSync(policyScript, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    work()
  } finally {
    rmSync(policyScript, { force: true })
    if (hadPolicy) renameSync(`${policyScript}.deskmirror`, policyScript)
  }
}

/**
 * The package would create and start a cluster named main on port 5432, where another server may
 * run.
 */
const clusterConfig = '/etc/postgresql-common/createcluster.conf'

function withoutMainCluster(work: () => void): void {
  copyFileSync(clusterConfig, `${clusterConfig}.deskmirror`)
  appendFileSync(clusterConfig, '\ncreate_main_cluster = false\n')
  try {
    work()
  } finally {
    renameSync(`${clusterConfig}.deskmirror`, clusterConfig)
  }
}
