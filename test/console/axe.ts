/**
 * Checks a page with axe, in a world of its own beside the page, so that the page keeps its policy.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Of a page: its world is there as long as its document. */
const sessions = new WeakMap<Page, Promise<CDPSession>>()

/** What axe finds by these rules or groups of them, each as `rule: element`. */
export async function accessibilityProblems(
  page: Page,
  rules: readonly string[] = allRules,
): Promise<readonly string[]> {
  const opened = sessions.get(page) ?? page.context().newCDPSession(page)
  sessions.set(page, opened)
  const session = await opened
  const { frameTree } = await session.send('Page.getFrameTree')
  const world = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id })
  const evaluate = async (expression: string) => {
    const options = { contextId: world.executionContextId, awaitPromise: true, returnByValue: true }
    return (await session.send('Runtime.evaluate', { expression, ...options })).result.value
  }
  if ((await evaluate('typeof axe')) === 'undefined') await evaluate(`${source}; undefined`)
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'], preload: false })
  return evaluate(`axe.run(${options}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`)
}
