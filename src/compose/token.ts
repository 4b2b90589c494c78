/** A widget token for one project: asked for at the widget's address, out of the budget of the project's key. */
import type { Budget } from '../api/budget.ts'
import { mintToken, type WidgetSession, type WidgetToken } from '../api/widget-token.ts'
import type { ProjectConfig } from '../config.ts'
import { CallFailed, describe, type Failure } from '../core/failure.ts'
import { UserError } from '../core/user-error.ts'
import { connect, type ServiceOptions } from './service.ts'

/** Throws UserError: what stood against it, and what to do. CallFailed only where somebody asked to stop. */
export async function askForToken(
  project: ProjectConfig,
  budget: Budget,
  session: WidgetSession,
  options: ServiceOptions,
): Promise<WidgetToken> {
  // Nothing of the project changes by a token, so it is minted where writing is switched off, too.
  const { client } = connect({ ...project, baseUrl: project.widgetUrl, readOnly: false }, budget, options)
  try {
    return await mintToken(client, session)
  } catch (error) {
    if (!(error instanceof CallFailed) || error.failure.kind === 'aborted') throw error
    throw refusal(project, error.failure)
  } finally {
    await client.close()
  }
}

const address = 'DESKMIRROR_WIDGET_URL (`widget_url` in deskmirror.yaml) is what stands in front of /v1/widget/token'

function refusal({ name, widgetUrl }: ProjectConfig, failure: Exclude<Failure, { kind: 'aborted' }>): UserError {
  const why = describe(failure)
  const at = `${widgetUrl.origin} (project ${name})`
  switch (failure.kind) {
    case 'denied': {
      const what = `the service denies the key of the project ${name} a widget token`
      const next = `which scope or role that needs is not documented: try a key with all scopes, from Settings > API keys; ${address}`
      return new UserError({ what, why, next, exitCode: 2 })
    }
    case 'refused': {
      // Only who understood the body can say what is wrong with it.
      const understood = failure.status === 400 || failure.status === 422
      const what = understood ? 'the service refuses this widget token' : `no widget token is to be had from ${at}`
      const next = understood
        ? 'change --email, --name, --company, --metadata or --ttl (the bounds of ttl are not documented)'
        : `${address}${widgetUrl.pathname === '/' ? '' : `, perhaps ${widgetUrl.origin}`}`
      return new UserError({ what, why, next, exitCode: 2 })
    }
    case 'throttled': {
      const next = `try again in ${Math.ceil(failure.waitMs / 1000)} s`
      return new UserError({ what: 'the service mints no widget token now', why, next, exitCode: 1 })
    }
    case 'transient': {
      const next = `try again (a token that was minted all the same expires by itself); ${address}`
      return new UserError({ what: `no widget token came from ${at}`, why, next, exitCode: 1 })
    }
  }
}
