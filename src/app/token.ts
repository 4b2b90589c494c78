/** Requests a widget token for one project, at the widget's address, on the key's budget. */
import type { Config, ProjectConfig } from '../config/config.ts'
import {
  ApiError,
  type ApiFailure,
  describeFailure,
  proxyProblemOf,
} from '../service/core/api-failure.ts'
import { mintToken, type WidgetSession, widgetTokenPath } from '../service/widget-token.ts'
import { candidateWidgetUrls } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { openBudgetsOnly } from './request-budgets.ts'
import { openService, type ServiceOptions } from './service.ts'

type TokenFailure = Exclude<ApiFailure, { kind: 'aborted' }>

/**
 * Tries the next likely address only if the one before has no such endpoint, so that no token was
 * minted there. Throws UserError, and ApiError only when aborted.
 */
export function mintWidgetToken(
  config: Config,
  project: ProjectConfig,
  session: WidgetSession,
  options: Pick<ServiceOptions, 'signal' | 'log'>,
) {
  const addresses =
    project.widgetUrl === null ? candidateWidgetUrls(project.baseUrl) : [project.widgetUrl]
  return withOpened(async (use) => {
    const budgets = await openBudgetsOnly(use, config, options.log)
    for (const [index, baseUrl] of addresses.entries()) {
      // A token changes nothing in the project, so it may be minted even if writing is switched
      // off.
      const widget = { ...project, baseUrl, readOnly: false }
      const { client } = use(openService(widget, budgets.forProject(project), options))
      const result = await mintToken(client, session).catch((error: unknown): TokenFailure => {
        if (!(error instanceof ApiError) || error.failure.kind === 'aborted') throw error
        return error.failure
      })
      if ('token' in result) return result
      const tried = addresses.slice(0, index + 1)
      // The path does not exist, or does not accept POST.
      const isMissing =
        result.kind === 'refused' && (result.status === 404 || result.status === 405)
      if (!isMissing || tried.length === addresses.length) throw tokenError(project, tried, result)
    }
    throw new Error('a project has no address to ask for a widget token')
  })
}

const widgetUrlHint =
  'DESKMIRROR_WIDGET_URL (`widget_url` in deskmirror.yaml) is the part of the address ' +
  `before ${widgetTokenPath}`

function tokenError(
  { name }: ProjectConfig,
  triedUrls: readonly URL[],
  failure: TokenFailure,
): UserError {
  const addresses = triedUrls.map((url) => url.href.replace(/\/$/, '') + widgetTokenPath)
  const triedAddresses = `${addresses.join(', nor from ')} (project ${name})`
  const error = (what: string, next: string, exitCode: 1 | 2) =>
    new UserError({ what, why: describeFailure(failure), next, exitCode })
  switch (failure.kind) {
    case 'denied': {
      const hint = keyHints[failure.status === 401 ? 'unknown' : 'lacking']
      return error(
        `${addresses.at(-1)} does not take the key of the project ${name}`,
        `${hint}; ${widgetUrlHint}`,
        2,
      )
    }
    case 'refused': {
      // Only a server that understood the body can object to it.
      if (failure.status === 400 || failure.status === 422) {
        const next =
          'change --email, --name, --company, --metadata or --ttl (the ' +
          'bounds of ttl are not documented)'
        return error('the service refuses this widget token', next, 2)
      }
      const hint = failure.status === 403 ? `${keyHints.lacking}; ` : ''
      return error(
        `no widget token is available from ${triedAddresses}`,
        `${hint}${widgetUrlHint}`,
        2,
      )
    }
    case 'throttled': {
      const next = `try again in ${Math.ceil(failure.waitMs / 1000)} s`
      return error('the service mints no widget token at the moment', next, 1)
    }
    case 'transient': {
      const proxy = proxyProblemOf(failure)
      if (proxy !== null)
        return error(
          `no widget token was received from ${triedAddresses}`,
          proxy.next,
          proxy.needsPerson ? 2 : 1,
        )
      const next = `try again (a token that was minted nevertheless expires by itself); ${widgetUrlHint}`
      return error(`no widget token was received from ${triedAddresses}`, next, 1)
    }
  }
}

/** Whether the widget needs another key than the rest of the API is not documented. */
const keyHints = {
  unknown:
    '`deskmirror check` shows whether the key itself is right; if it is, this address is another ' +
    'service, or the widget needs another key or role (not documented; see Settings > API keys)',
  lacking:
    'the key lacks a permission for this; which scope or role is needed is not documented; ' +
    'try a key with all scopes, from Settings > API keys',
} as const
