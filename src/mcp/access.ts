/** What the person who started the assistant's server may, by the settings. */
import type { Config } from '../config/config.ts'
import { hasRole } from '../config/people.ts'
import { draftRole } from '../console/core/permissions.ts'
import { isSamePerson } from '../values/person-name.ts'
import type { Session } from './tool.ts'

export function findListed(config: Config | null, person: string) {
  return config?.console.people.find(({ name }) => isSamePerson(name, person))
}

/**
 * What the person may, by the settings as they are now: a role that is taken away, or words that
 * are to be hidden, hold for the next call. `wasListed`: the settings named the person when the
 * server started; if they no longer do, nothing is left. Throws UserError if the settings cannot be
 * read.
 */
export function readAccess(
  {
    configured,
    person,
    readConfig,
  }: Pick<Session, 'person'> & {
    readonly configured: Session['drafts']
    readonly readConfig: () => Config
  },
  wasListed: boolean,
) {
  if (configured === null) return { hidesMessages: false, drafts: null }
  const config = readConfig()
  const known = findListed(config, person)
  const isRemoved = wasListed && known === undefined
  const project = config.projects.find(({ name }) => name === configured.project.name)
  const mayDraft =
    !config.readOnly && !isRemoved && (known === undefined || hasRole(known.role, draftRole))
  return {
    hidesMessages: isRemoved || known?.hidesMessages === true,
    drafts: mayDraft && project !== undefined ? { config, project } : null,
  }
}
