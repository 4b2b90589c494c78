/** Turns variables and a YAML file into the configuration, or into all of its problems at once. */
import { hashKeyProblem } from './column-settings.ts'
import type { Config } from './config.ts'
import { lakesInOneFolder } from './lakes.ts'
import { notifyProblem } from './notify-address.ts'
import { type ConfigProblem, ConfigurationError, containsApiKey, maxProblems } from './problems.ts'
import { readGlobalConfig } from './program-settings.ts'
import {
  allProjectSettings,
  type ProjectSettings,
  settingMaps,
  toProject,
} from './project-settings.ts'
import { addressVariable, proxyOfVariables, proxyProblem } from './proxy.ts'
import { deferSecretErrors } from './secret-fields.ts'
import {
  asRecord,
  type ConfigSources,
  checkSettings,
  type LocateSetting,
  locationOf,
  type RawSettings,
  readVariables,
  variableName,
} from './setting.ts'

const projectName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

/** Throws ConfigurationError. */
export function readConfig(sources: ConfigSources): Omit<Config, 'files'> {
  const fileSettings = asRecord(sources.yaml?.values ?? {})
  if (fileSettings === null)
    throw new ConfigurationError([
      { where: locationOf(sources, []), why: 'must be a map of settings' },
    ])
  const { projects: projectMap, ...lines } = fileSettings
  const isDefault = (key: string) =>
    key !== 'api_key' && key !== 'lake' && allProjectSettings.some(({ name }) => name === key)
  const [defaults, globalLines] = partitionSettings(lines, isDefault)
  const [ofProgram, ofProjects]: [ConfigProblem[], ConfigProblem[]] = [[], []]
  const globals = readGlobalConfig(sources, globalLines, ofProgram, [
    'projects',
    ...allProjectSettings.map(({ name }) => name),
  ])
  const doubts = new Set<string>()
  const own = readProjects({ sources, defaults, problems: ofProjects, doubts }, fileSettings)
  const common = { readOnly: globals?.readOnly ?? false, loadedAt: Date.now() }
  const projects = own.map((project) => ({ ...project, ...common }))
  for (const { name } of lakesInOneFolder({ lake: globals?.lake ?? null, projects }))
    ofProjects.push({
      where: locationOf(sources, ['projects', name, 'lake']),
      why: 'is the folder of another lake, too: name one of its own',
    })
  // A problem in a line that several projects inherit counts once.
  const problems = [...ofProgram, ...(sources.needs === 'database' ? [] : ofProjects)]
  const distinct = new Map(problems.map((problem) => [`${problem.where} ${problem.why}`, problem]))
  if (globals === null || distinct.size > 0) throw new ConfigurationError([...distinct.values()])
  return { ...globals, projects, warnings: [...doubts] }
}

/** `defaults`: lines at the top of the file, which projects inherit. */
type Reading = {
  readonly sources: ConfigSources
  readonly defaults: RawSettings
  readonly problems: ConfigProblem[]
  /** What stops nothing that this command does. */
  readonly doubts: Set<string>
}

function readProjects(reading: Reading, fileSettings: RawSettings): readonly ProjectSettings[] {
  const { sources, problems } = reading
  if (!('projects' in fileSettings))
    return [readVariableProject(reading)].filter((project) => project !== null)
  const projectMap = asRecord(fileSettings.projects)
  const where = locationOf(sources, ['projects'])
  const both =
    `and ${variableName('project_id')} are both set: describe projects ` +
    'in one of the two places'
  if (projectMap === null || Object.keys(projectMap).length === 0)
    problems.push({
      where,
      why: 'must be a map of at least one project: its name, and its settings below',
    })
  else if (sources.variables[variableName('project_id')] !== undefined)
    problems.push({ where, why: both })
  if (projectMap === null || problems.length > 0) return []
  const projects: ProjectSettings[] = []
  for (const [name, settings] of Object.entries(projectMap)) {
    const project = problems.length > maxProblems ? null : readNamedProject(reading, name, settings)
    if (project !== null) projects.push(project)
  }
  problems.push(...duplicateProblems(sources, projects))
  return projects
}

/** Ids are keys in the warehouse, and file systems and shells may ignore the case of names. */
function duplicateProblems(
  sources: ConfigSources,
  projects: readonly ProjectSettings[],
): readonly ConfigProblem[] {
  const earlier = (key: 'name' | 'projectId', { [key]: text }: ProjectSettings, index: number) =>
    projects.slice(0, index).find((other) => other[key].toLowerCase() === text.toLowerCase())
  return projects.flatMap((project, index): ConfigProblem[] => {
    const sameName = earlier('name', project, index)
    const sameId = earlier('projectId', project, index)
    const locate = (...key: string[]) => locationOf(sources, ['projects', project.name, ...key])
    const sameNameWhy = `differs from ${sameName?.name} only in upper and lower case`
    const sameIdWhy = `is also the project of ${sameId?.name}: a warehouse mirrors each project once`
    return [
      ...(sameName === undefined ? [] : [{ where: locate(), why: sameNameWhy }]),
      ...(sameId === undefined ? [] : [{ where: locate('project_id'), why: sameIdWhy }]),
    ]
  })
}

function readNamedProject(
  reading: Reading,
  name: string,
  settings: unknown,
): ProjectSettings | null {
  const locate: LocateSetting = (key, within = []) =>
    locationOf(reading.sources, [
      'projects',
      name,
      ...(key === '' ? [] : key.split('.')),
      ...within,
    ])
  const lines = asRecord(settings)
  const isNamed = projectName.test(name) && !containsApiKey(name)
  if (lines !== null && isNamed) return readProject(reading, name, lines, locate)
  const why = 'is not a valid project name: use letters, digits, dots and dashes'
  reading.problems.push({
    where: locate(''),
    why: lines === null ? 'must be a map of settings' : why,
  })
  return null
}

/** The single project that variables describe. */
function readVariableProject(reading: Reading): ProjectSettings | null {
  const { variables } = reading.sources
  const key = variables[variableName('api_key')]
  const file = variables[variableName('api_key_file')]
  const locate = (name: string) =>
    variableName(name === 'api_key' && file !== undefined ? 'api_key_file' : name)
  const references = readVariables(variables, allProjectSettings, 'secret')
  const lines = file === undefined ? references : { ...references, api_key: { file } }
  const project = readProject(reading, 'default', lines, locate)
  const why = `and ${variableName('api_key_file')} are both set: keep only one`
  if (key !== undefined && file !== undefined)
    reading.problems.push({ where: variableName('api_key'), why })
  return project
}

/** A project's own line wins over a variable, a variable over a line at the top of the file. */
function readProject(
  { sources, defaults, problems, doubts }: Reading,
  name: string,
  lines: RawSettings,
  ownLocation: LocateSetting,
): ProjectSettings | null {
  const defaultLines = flattenMaps(defaults)
  const ownLines = flattenMaps(lines)
  const fromVariables = readVariables(sources.variables, allProjectSettings, 'value')
  const needsSecrets = ['worker', 'service', 'check'].includes(sources.needs)
  const keyReference = needsSecrets ? {} : { api_key: { env: variableName('api_key') } }
  // A project adds its own lines, so it cannot forget what is private in all of them.
  const merged = ['columns', 'replies']
    .filter((name) => isMapOrMissing(defaultLines[name]) && isMapOrMissing(ownLines[name]))
    .map((name) => [name, { ...asRecord(defaultLines[name]), ...asRecord(ownLines[name]) }])
  const values: RawSettings = {
    ...keyReference,
    ...defaultLines,
    ...fromVariables,
    ...ownLines,
    ...Object.fromEntries(merged),
  }
  const locate: LocateSetting = (key, within = []) => {
    if (key in ownLines) return ownLocation(key, within)
    if (key in fromVariables) return variableName(key)
    return key in defaultLines
      ? locationOf(sources, [...key.split('.'), ...within])
      : ownLocation(key, within)
  }
  const readSecret = needsSecrets ? sources.readSecret : deferSecretErrors(sources.readSecret)
  const checked = checkSettings(allProjectSettings, values, readSecret, locate, problems)
  if (checked === null) return null
  const project = toProject(name, checked)
  const proxy = project.proxy ?? proxyOfVariables(sources.variables)
  if (needsSecrets) {
    const variable = project.proxy === null ? addressVariable(sources.variables) : undefined
    const ofProxy = proxyProblem(proxy, project.baseUrl)
    if (ofProxy !== null) problems.push({ where: variable ?? locate('proxy'), why: ofProxy })
    const ofKey = hashKeyProblem(project)
    if (ofKey !== undefined) problems.push({ where: locate('hash_key'), why: ofKey })
  }
  const ofNotify = notifyProblem(project.notify)
  if (ofNotify !== undefined) {
    const problem = { where: locate('notify'), why: ofNotify }
    // Only the worker posts: `status`, `sync` and `writeback stop` must not wait for it.
    if (sources.needs === 'worker') problems.push(problem)
    else if (sources.needs !== 'check')
      doubts.add(`${problem.where} ${problem.why}: nothing is posted`)
  }
  return { ...project, proxy }
}

const isMapOrMissing = (lines: unknown) => lines === undefined || asRecord(lines) !== null

/** Splits maps like `schedules` into settings; a value that is not a map stays, to be refused. */
function flattenMaps(settings: RawSettings): RawSettings {
  const entries = Object.entries(settings).flatMap(([name, value]) => {
    const map = settingMaps.includes(name) ? asRecord(value) : null
    if (map === null) return [[name, value]] as const
    return Object.entries(map).map(([key, line]) => [`${name}.${key}`, line] as const)
  })
  return Object.fromEntries(entries)
}

function partitionSettings(
  settings: RawSettings,
  first: (key: string) => boolean,
): [RawSettings, RawSettings] {
  const entries = Object.entries(settings)
  const part = (wanted: boolean) =>
    Object.fromEntries(entries.filter(([key]) => first(key) === wanted))
  return [part(true), part(false)]
}
