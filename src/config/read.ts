/** Turns variables and a YAML file into the configuration, or into all of its problems at once. */
import type { Config } from './config.ts'
import { type ConfigProblem, containsApiKey, maxProblems } from './problems.ts'
import { readGlobalConfig } from './program-settings.ts'
import { allProjectSettings, type ProjectSettings, settingMaps, toProject } from './project-settings.ts'
import { deferSecretErrors } from './secret-fields.ts'
import { readVariables, variableName } from './setting.ts'
import {
  asRecord,
  type ConfigResult,
  type ConfigSources,
  checkSettings,
  type LocateSetting,
  locationOf,
  type RawSettings,
} from './sources.ts'

const projectName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

export function readConfig(sources: ConfigSources): ConfigResult<Omit<Config, 'warnings'>> {
  const fileSettings = asRecord(sources.yaml?.values ?? {})
  if (fileSettings === null) return problemAt(locationOf(sources, []), 'must be a map of settings')
  const { projects: projectMap, ...settingLines } = fileSettings
  const ownDatabases = ownDatabaseProblems(sources, projectMap)
  if (ownDatabases.length > 0) return { value: null, problems: ownDatabases }
  const isDefault = (key: string) => key !== 'api_key' && allProjectSettings.some(({ name }) => name === key)
  const [defaults, globalLines] = partitionSettings(settingLines, isDefault)
  const globals = readGlobalConfig(sources, globalLines)
  const projects =
    'projects' in fileSettings ? readProjects(sources, defaults, projectMap) : [readVariableProject(sources, defaults)]
  const projectProblems = [...projects.flatMap(({ problems }) => problems), ...duplicateProblems(sources, projects)]
  const relevantProblems = sources.needs === 'database' ? [] : projectProblems
  const problems = distinctProblems([...globals.problems, ...relevantProblems])
  if (globals.value === null || problems.length > 0) return { value: null, problems }
  const { readOnly } = globals.value
  const projectConfigs = projects.flatMap(({ value }) => (value === null ? [] : [{ ...value, readOnly }]))
  return { value: { ...globals.value, projects: projectConfigs }, problems }
}

/** Former versions mirrored projects into databases of their own. */
function ownDatabaseProblems(sources: ConfigSources, projectMap: unknown): ConfigProblem[] {
  const why =
    'is for all projects: move it to the top of the file; for a project in another database, run another worker with another file'
  return Object.entries(asRecord(projectMap) ?? {})
    .filter(([, lines]) => 'database_url' in Object(lines))
    .map(([name]) => ({ where: locationOf(sources, ['projects', name, 'database_url']), why }))
}

function readProjects(
  sources: ConfigSources,
  defaults: RawSettings,
  projects: unknown,
): readonly ConfigResult<ProjectSettings>[] {
  const projectMap = asRecord(projects)
  const where = locationOf(sources, ['projects'])
  if (projectMap === null || Object.keys(projectMap).length === 0) {
    return [problemAt(where, 'must be a map of at least one project: its name, and its settings below')]
  }
  if (sources.variables[variableName('project_id')] !== undefined) {
    return [
      problemAt(where, `and ${variableName('project_id')} are both set: describe projects in one of the two places`),
    ]
  }
  const read: ConfigResult<ProjectSettings>[] = []
  let problems = 0
  for (const [name, settings] of Object.entries(projectMap)) {
    if (problems > maxProblems) break
    const project = readNamedProject(sources, defaults, name, settings)
    problems += project.problems.length
    read.push(project)
  }
  return read
}

/** Project ids are keys in the warehouse, and file systems and command lines may ignore the case of names. */
function duplicateProblems(
  sources: ConfigSources,
  projects: readonly ConfigResult<ProjectSettings>[],
): ConfigProblem[] {
  const projectsRead = projects.flatMap(({ value }) => value ?? [])
  const earlier = (key: 'name' | 'projectId', { [key]: text }: ProjectSettings, index: number) =>
    projectsRead.slice(0, index).find((other) => other[key].toLowerCase() === text.toLowerCase())
  return projectsRead.flatMap((project, index): ConfigProblem[] => {
    const [sameName, sameId] = [earlier('name', project, index), earlier('projectId', project, index)]
    const locate = (...key: string[]) => locationOf(sources, ['projects', project.name, ...key])
    const why = (other: ProjectSettings) =>
      `is also the project of ${other.name}: a warehouse mirrors each project once`
    return [
      ...(sameName === undefined
        ? []
        : [{ where: locate(), why: `differs from ${sameName.name} only in upper and lower case` }]),
      ...(sameId === undefined ? [] : [{ where: locate('project_id'), why: why(sameId) }]),
    ]
  })
}

function readNamedProject(
  sources: ConfigSources,
  defaults: RawSettings,
  name: string,
  settings: unknown,
): ConfigResult<ProjectSettings> {
  const locate: LocateSetting = (key, within = []) =>
    locationOf(sources, ['projects', name, ...(key === '' ? [] : key.split('.')), ...within])
  const lines = asRecord(settings)
  if (lines === null) return problemAt(locate(''), 'must be a map of settings')
  if (!projectName.test(name) || containsApiKey(name))
    return problemAt(locate(''), 'is not a valid project name: use letters, digits, dots and dashes')
  return readProject(sources, name, defaults, lines, locate)
}

/** The single project that variables describe; settings at the top of the file are its defaults. */
function readVariableProject(sources: ConfigSources, defaults: RawSettings): ConfigResult<ProjectSettings> {
  const isSet = (key: string) => sources.variables[variableName(key)] !== undefined
  const locate = (key: string) => variableName(key === 'api_key' && isSet('api_key_file') ? 'api_key_file' : key)
  const file = sources.variables[variableName('api_key_file')]
  const references = readVariables(sources.variables, allProjectSettings, 'secret')
  const lines = file === undefined ? references : { ...references, api_key: { file } }
  const project = readProject(sources, 'default', defaults, lines, locate)
  const hasBoth = isSet('api_key') && isSet('api_key_file')
  const why = `and ${variableName('api_key_file')} are both set: keep only one`
  return hasBoth ? { ...project, problems: [...project.problems, { where: variableName('api_key'), why }] } : project
}

/** A project's own line wins over a variable, a variable over a line at the top of the file. */
function readProject(
  sources: ConfigSources,
  name: string,
  defaults: RawSettings,
  lines: RawSettings,
  ownLocation: LocateSetting,
): ConfigResult<ProjectSettings> {
  const [defaultLines, ownLines] = [flattenMaps(defaults), flattenMaps(lines)]
  const fromVariables = readVariables(sources.variables, allProjectSettings, 'value')
  const needsSecrets = sources.needs === 'service'
  const keyReference = needsSecrets ? {} : { api_key: { env: variableName('api_key') } }
  const values: RawSettings = { ...keyReference, ...defaultLines, ...fromVariables, ...ownLines }
  const locate: LocateSetting = (key, within = []) => {
    if (key in ownLines) return ownLocation(key, within)
    if (key in fromVariables) return variableName(key)
    return key in defaultLines ? locationOf(sources, [...key.split('.'), ...within]) : ownLocation(key, within)
  }
  const readSecret = needsSecrets ? sources.readSecret : deferSecretErrors(sources.readSecret)
  const { value, problems } = checkSettings(allProjectSettings, values, readSecret, locate)
  return { value: value && toProject(name, value), problems }
}

/** Splits maps like `schedules` into settings; a value that is not a map stays, to be refused. */
function flattenMaps(settings: RawSettings): RawSettings {
  const entries = Object.entries(settings).flatMap(([name, value]) => {
    const map = settingMaps.includes(name) ? asRecord(value) : null
    if (map === null) return [[name, value]] as const
    return Object.entries(map).map(([key, line]) => [`${name}.${key}`, line] as const)
  })
  return Object.fromEntries(entries)
}

/** A problem in a line that several projects inherit counts once. */
function distinctProblems(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return [...new Map(problems.map((problem) => [`${problem.where} ${problem.why}`, problem])).values()]
}

function partitionSettings(settings: RawSettings, first: (key: string) => boolean): [RawSettings, RawSettings] {
  const entries = Object.entries(settings)
  const part = (wanted: boolean) => Object.fromEntries(entries.filter(([key]) => first(key) === wanted))
  return [part(true), part(false)]
}

function problemAt(where: string, why: string): ConfigResult<never> {
  return { value: null, problems: [{ where, why }] }
}
