/** A widget token for one project: asked for at the widget's address, out of the budget of the project's key. */
import type { Budget } from '../api/budget.ts'
import { mintToken, type WidgetSession, type WidgetToken, widgetTokenPath } from '../api/widget-token.ts'
import type { Config, ProjectConfig } from '../config.ts'
import { likelyWidgetUrls } from '../core/base-url.ts'
import { CallFailed, describe, type Failure } from '../core/failure.ts'
import { UserError } from '../core/user-error.ts'
import { withBudgetsAlone } from './opened.ts'
import { type ServiceOptions, withService } from './service.ts'

type Refusal = Exclude<Failure, { kind: 'aborted' }>

/** Mints a token for the widget in a browser. Throws UserError. */
export function mintWidgetToken(
  config: Config,
  project: ProjectConfig,
  session: WidgetSession,
  options: Pick<ServiceOptions, 'signal' | 'log'>,
): Promise<WidgetToken> {
  return withBudgetsAlone(config, options.log, (budgets) => askForToken(project, budgets.of(project), session, options))
}

/**
 * Asks at the next likely address only where the one before has no such operation: nothing was minted there. Throws
 * UserError: what stood against it, and what to do. CallFailed only where somebody asked to stop.
 */
async function askForToken(
  project: ProjectConfig,
  budget: Budget,
  session: WidgetSession,
  options: ServiceOptions,
): Promise<WidgetToken> {
  const addresses = project.widgetUrl === null ? likelyWidgetUrls(project.baseUrl) : [project.widgetUrl]
  const asked: URL[] = []
  for (const url of addresses) {
    asked.push(url)
    const answer = await askAt(url, project, budget, session, options)
    if ('token' in answer) return answer
    if (!isUnknownThere(answer) || asked.length === addresses.length) throw refusal(project, asked, answer)
  }
  throw new Error('a project has no address to ask for a widget token')
}

function askAt(
  baseUrl: URL,
  project: ProjectConfig,
  budget: Budget,
  session: WidgetSession,
  options: ServiceOptions,
): Promise<WidgetToken | Refusal> {
  // Nothing of the project changes by a token, so it is minted where writing is switched off, too.
  return withService({ ...project, baseUrl, readOnly: false }, budget, options, ({ client }) =>
    mintToken(client, session).catch((error: unknown) => {
      if (!(error instanceof CallFailed) || error.failure.kind === 'aborted') throw error
      return error.failure
    }),
  )
}

/** No such path, or nothing to be posted there. */
function isUnknownThere(failure: Refusal): boolean {
  return failure.kind === 'refused' && (failure.status === 404 || failure.status === 405)
}

const setting = `DESKMIRROR_WIDGET_URL (\`widget_url\` in deskmirror.yaml) is what stands in front of ${widgetTokenPath}`

function refusal({ name }: ProjectConfig, asked: readonly URL[], failure: Refusal): UserError {
  const why = describe(failure)
  const addresses = asked.map((url) => url.href.replace(/\/$/, '') + widgetTokenPath)
  const at = `${addresses.join(', nor from ')} (project ${name})`
  switch (failure.kind) {
    case 'denied': {
      const what = `${addresses.at(-1)} does not take the key of the project ${name}`
      return new UserError({
        what,
        why,
        next: `${aboutKey[failure.status === 401 ? 'unknown' : 'lacking']}; ${setting}`,
        exitCode: 2,
      })
    }
    case 'refused': {
      // Only who understood the body can say what is wrong with it.
      const understood = failure.status === 400 || failure.status === 422
      const what = understood ? 'the service refuses this widget token' : `no widget token is to be had from ${at}`
      const next = understood
        ? 'change --email, --name, --company, --metadata or --ttl (the bounds of ttl are not documented)'
        : `${failure.status === 403 ? `${aboutKey.lacking}; ` : ''}${setting}`
      return new UserError({ what, why, next, exitCode: 2 })
    }
    case 'throttled': {
      const next = `try again in ${Math.ceil(failure.waitMs / 1000)} s`
      return new UserError({ what: 'the service mints no widget token now', why, next, exitCode: 1 })
    }
    case 'transient': {
      const next = `try again (a token that was minted all the same expires by itself); ${setting}`
      return new UserError({ what: `no widget token came from ${at}`, why, next, exitCode: 1 })
    }
  }
}

/** What a refused key means here: the widget may want another key than the rest of the API, and that is not documented. */
const aboutKey = {
  unknown:
    '`deskmirror check` says whether the key itself is right; if it is, this address is another service, or the widget wants another key or role (not documented: look at Settings > API keys)',
  lacking:
    'the key may do other things, but not this: which scope or role it needs is not documented; try a key with all scopes, from Settings > API keys',
} as const
