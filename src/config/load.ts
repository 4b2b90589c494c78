/** Loads variables, `.env` and `deskmirror.yaml`. The only reader of `process.env`. */
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../values/user-error.ts'
import type { Config } from './config.ts'
import { parseEnvFile } from './env-file.ts'
import { ConfigurationError, isPlainPath, isVariableName, redactName } from './problems.ts'
import { defaultDatabaseUrl, globalSettings } from './program-settings.ts'
import { allProjectSettings } from './project-settings.ts'
import { isDirect, proxyOfVariables } from './proxy.ts'
import { readConfig } from './read.ts'
import { parseSecrets, type ReadSecret } from './secret-fields.ts'
import {
  type ConfigNeeds,
  suggestNearest,
  type Variables,
  variableName,
  variablePrefix,
} from './setting.ts'
import { canEnter, readTextFile } from './text-file.ts'
import { parseYaml, type YamlFile } from './yaml-file.ts'

const envFile = '.env'
const defaultFile = 'deskmirror.yaml'

/**
 * Throws ConfigurationError. Paths of secrets in the YAML file are relative to its folder, all
 * others to the working folder.
 */
export function loadConfig(
  needs: ConfigNeeds,
  folder = process.cwd(),
  environment: Variables = process.env,
): Config {
  const variables = readVariables(folder, environment)
  const path = resolve(folder, variables.DESKMIRROR_CONFIG ?? defaultFile)
  const yaml = readYamlFile(path, variables.DESKMIRROR_CONFIG)
  const referenced = new Set<string>()
  const files = [resolve(folder, envFile), path, ...filesOfDrivers(folder, variables)]
  const readSecret: ReadSecret = (reference, many) => {
    if (!('env' in reference)) {
      const file = resolve(yaml === null ? folder : dirname(path), reference.file)
      files.push(file)
      return secretFromFile(file, isPlainPath(reference.file))
    }
    referenced.add(reference.env)
    return secretFromVariable(variables, reference.env, many)
  }
  const config = readConfig({ variables, yaml, readSecret, needs })
  const warnings = [
    ...config.warnings,
    ...unknownVariables(variables, referenced),
    ...unusedProxy(config, variables),
  ]
  return { ...config, files, warnings }
}

/**
 * What must not be written over, even if it is not valid: its files, and the warehouse it names.
 */
export function describeConfiguration(
  folder = process.cwd(),
  environment: Variables = process.env,
): Pick<Config, 'databaseUrl' | 'files'> {
  try {
    return loadConfig('database', folder, environment)
  } catch {
    const { DESKMIRROR_CONFIG = defaultFile, DESKMIRROR_API_KEY_FILE: key = '' } = environment
    const own = [envFile, DESKMIRROR_CONFIG, ...(key === '' ? [] : [key])]
    const files = own.map((path) => resolve(folder, path))
    return {
      databaseUrl: defaultDatabaseUrl,
      files: [...files, ...filesOfDrivers(folder, environment)],
    }
  }
}

/** What Postgres's programs and Node.js read by themselves: passwords, keys and certificates. */
function filesOfDrivers(folder: string, variables: Variables): readonly string[] {
  const names = ['PGSSLKEY', 'PGSSLCERT', 'PGSSLROOTCERT', 'NODE_EXTRA_CA_CERTS']
  const passwords = variables.PGPASSFILE || join(variables.HOME || '.', '.pgpass')
  const named = names.flatMap((name) => variables[name] || [])
  return [passwords, ...named].map((path) => resolve(folder, path))
}

/** Whether stack traces are wanted; works even if the configuration is invalid. */
export function wantsStackTraces(environment: Variables = process.env): boolean {
  return ['debug', 'trace'].includes(environment.DESKMIRROR_LOG_LEVEL ?? '')
}

/** Without a desktop, Linux would open a browser within the terminal. */
export function canOpenBrowser(): boolean {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env
  return process.platform !== 'linux' || (DISPLAY ?? WAYLAND_DISPLAY) !== undefined
}

/** Variables with our prefix that nothing reads are most likely typing errors. */
export function unknownVariables(variables: Variables, referenced: ReadonlySet<string>): string[] {
  const settings = [...Object.values(globalSettings), ...allProjectSettings].filter(
    ({ variable }) => variable !== null,
  )
  const known = new Set(
    [...settings.map(({ name }) => name), 'api_key_file', 'config'].map(variableName),
  )
  return Object.keys(variables)
    .filter((name) => looksOurs(name) && !name.startsWith(`${variablePrefix}TEST_`))
    .filter((name) => !known.has(name) && !referenced.has(name))
    .map(
      (name) =>
        `the variable ${redactName(name)} is set, but deskmirror does not know it` +
        suggestNearest(variablePrefix, name, [...known]),
    )
}

/** Whoever sets it expects a proxy, and there is none. */
function unusedProxy({ projects }: Pick<Config, 'projects'>, variables: Variables): string[] {
  const name = ['http_proxy', 'HTTP_PROXY'].find((name) => variables[name] !== undefined)
  const isDirectly = projects.some(
    ({ proxy, baseUrl }) => proxy?.address === null && !isDirect(proxy, baseUrl),
  )
  return name === undefined || !isDirectly
    ? []
    : [
        `${name} is for http:// addresses: set HTTPS_PROXY, as the ` +
          'service is reached without a proxy',
      ]
}

/** Those of the variables, for a project that is not configured yet. Throws UserError. */
export function proxyOfEnvironment(folder = process.cwd(), environment: Variables = process.env) {
  return proxyOfVariables(readVariables(folder, environment))
}

/** A name in other letters, or with dashes, is none of ours, which its author does not know. */
const looksOurs = (name: string): boolean =>
  name.toUpperCase().replace(/[.-]/g, '_').startsWith(variablePrefix)

/** The environment wins over `.env`; an empty variable counts as not set. */
function readVariables(folder: string, environment: Variables): Variables {
  const text = readTextFile(resolve(folder, envFile))
  if (text instanceof Error && !canEnter(folder)) throw unusableWorkingFolder(folder)
  if (text instanceof Error)
    throw new ConfigurationError([{ where: envFile, why: `cannot be read (${text.message})` }])
  const { assignments, problems } = parseEnvFile(text ?? '')
  if (problems.length > 0) throw new ConfigurationError(problems)
  const merged = {
    ...Object.fromEntries(assignments.map(({ name, value }) => [name, value])),
    ...environment,
  }
  return Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== undefined && value !== ''),
  )
}

/** `given`: the value of DESKMIRROR_CONFIG; that file has to exist. */
function readYamlFile(path: string, given: string | undefined): YamlFile | null {
  const required = given !== undefined
  const text = readTextFile(path)
  if (text instanceof Error || (text === null && required)) {
    const why = text === null ? 'there is no such file' : text.message
    const location = isPlainPath(given ?? path) ? ` (${path})` : ''
    throw new ConfigurationError([
      { where: required ? 'DESKMIRROR_CONFIG' : path, why: `cannot be read: ${why}${location}` },
    ])
  }
  if (text === null) return null
  return parseYaml(basename(path), text)
}

/** As a container has whose /data belongs to root. */
function unusableWorkingFolder(folder: string): UserError {
  return new UserError({
    what: `cannot work in the folder ${folder}`,
    why: 'this user may not enter it',
    next:
      'give the folder to this user (in a container, its mount), or ' +
      'start deskmirror in another one',
  })
}

function secretFromVariable(
  variables: Variables,
  env: string,
  many?: 'several',
): ReturnType<ReadSecret> {
  const text = variables[env]
  const source = isVariableName(env) ? `the variable ${env}` : 'a variable'
  if (text === undefined) return { why: `points to ${source}, which does not exist` }
  return parseSecrets(text, source, many)
}

/**
 * `isNamed`: the setting is clearly a path; otherwise it may be the secret, and is not repeated.
 */
function secretFromFile(path: string, isNamed: boolean): ReturnType<ReadSecret> {
  const text = readTextFile(path)
  if (typeof text === 'string') return parseSecrets(text, path)
  const source = isNamed ? path : 'a file'
  if (text !== null) return { why: `cannot be read from ${source} (${text.message})` }
  const instead = isNamed ? '' : ' (write a path here, not the secret itself)'
  return { why: `points to ${source}, which does not exist${instead}` }
}
