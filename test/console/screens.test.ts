/** Every screen in a real Chromium: hostile texts stay texts, and nobody is shut out. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultProject } from '../../src/config/config.ts'
import { secret } from '../../src/core/secret.ts'
import { startConsole, type TestConsole } from '../http/console/console-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { accessibilityProblems } from './axe.ts'
import { attack, fillHostile, screens } from './hostile-mirror.ts'
import { openPage } from './open-page.ts'

let browser: Browser
let console: TestConsole
const closers: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  const settings = defaultProject({
    ...{ name: 'main', projectId: 'main', baseUrl: new URL('https://x.example'), apiKey: secret('x') },
  })
  browser = await launchBrowser()
  console = await startConsole((warehouse) => fillHostile(warehouse, settings), {
    end: (close) => void closers.push(close),
  })
})
afterAll(async () => {
  await browser?.close()
  for (const close of closers) await close()
})

test('hostile texts are shown as texts, in every field of every screen, and axe finds nothing wrong', async () => {
  const page = await openPage(browser, console, 'ann')
  const problems: string[] = []
  for (const path of screens) {
    await page.go(path)
    expect(await page.locator('main img, main script, main iframe, main svg[onload], main b > i').count(), path).toBe(0)
    problems.push(...(await accessibilityProblems(page)).map((problem) => `${path} ${problem}`))
  }
  expect(problems).toEqual([])
  expect(page.violations).toEqual([])
  await page.go('/console/p/main/conversations/c1')
  const thread = await page.locator('.thread').textContent()
  expect(thread).toContain('<img src=x onerror=alert(1)>')
  expect(thread).toContain('U+202Egnp.exeU+202C U+200BzeroU+200Bwidth')
  await page.go('/console/p/main/visitors/v1')
  expect(await page.getByText(attack.slice(0, 28)).count()).toBeGreaterThan(0)
}, 120_000)

test('in the dark, and on a phone of 320 pixels without sideways scrolling', async () => {
  for (const options of [{ colorScheme: 'dark' }, { viewport: { width: 320, height: 640 } }] as const) {
    const page = await openPage(browser, console, 'ann', options)
    const problems: string[] = []
    for (const path of screens) {
      await page.go(path)
      const width = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      if (width !== 0) problems.push(`${path} is ${width} pixels too wide`)
      problems.push(...(await accessibilityProblems(page)).map((problem) => `${path} ${problem}`))
    }
    expect(problems).toEqual([])
    expect(page.violations).toEqual([])
  }
}, 180_000)

test('on a phone the menu opens and leads on, without JavaScript', async () => {
  const page = await openPage(browser, console, 'vera', {
    viewport: { width: 320, height: 640 },
    javaScriptEnabled: false,
  })
  await page.go('/console/p/main')
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('link', { name: 'Waiting' }).last().click()
  await page.waitForURL('**/waiting')
})
