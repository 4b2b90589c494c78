/** Pages of a running console in a real browser, and what must never happen on any of them. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { TestConsole } from './routes/console-server.ts'

export type OpenPage = Page & {
  readonly go: (path: string) => Promise<void>
  readonly violations: readonly string[]
}

/**
 * A page of a person who is signed in, in a context of its own. Scripts, alerts and the policy are
 * watched.
 */
export async function openPage(
  browser: Browser,
  console: Pick<TestConsole, 'address'> & Partial<Pick<TestConsole, 'signIn'>>,
  person: string | null,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(120_000)
  if (person !== null && console.signIn !== undefined) {
    const [name = '', value = ''] = (await console.signIn(person)).split('=')
    await context.addCookies([
      { name, value, url: `${console.address}/console`, httpOnly: true, sameSite: 'Lax' },
    ])
  }
  const page = await context.newPage()
  const violations: string[] = []
  page.on('dialog', async (dialog) => {
    violations.push(`a dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  page.on('pageerror', (error) => violations.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript/i.test(message.text()))
      violations.push(message.text())
  })
  const go = async (path: string) => {
    const response = await page.goto(console.address + path)
    expect([path, response?.status()]).toEqual([path, 200])
    while ((await page.locator('[data-counting]').count()) > 0) await page.reload()
  }
  return Object.assign(page, { go, violations })
}
