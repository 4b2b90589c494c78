/** Checks a page with axe, in a world of its own beside the page, so that the page keeps its policy. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds by these rules or groups of them, each as `rule: element`. */
export async function accessibilityProblems(
  page: Page,
  rules: readonly string[] = allRules,
): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page)
  try {
    const { frameTree } = await session.send('Page.getFrameTree')
    const world = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id })
    const evaluate = (expression: string) =>
      session.send('Runtime.evaluate', {
        expression,
        contextId: world.executionContextId,
        awaitPromise: true,
        returnByValue: true,
      })
    await evaluate(`${source}; undefined`)
    const { result } = await evaluate(`axe.run({ runOnly: ${JSON.stringify(rules)} }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`)
    return result.value
  } finally {
    await session.detach()
  }
}
