/** Ends a test run with one plain line, `N passed, N failed`, whatever happened. */
import type { Reporter, TestModule } from 'vitest/node'

export default function summaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
      const passed = states.filter((state) => state === 'passed').length
      const failed = states.filter((state) => state === 'failed').length + modules.filter(isBroken).length
      process.stdout.write(`\n${passed} passed, ${failed + unhandledErrors.length} failed\n`)
    },
  }
}

/** A file that could not even be loaded, or whose hooks failed, has failed without a failed test. */
function isBroken(module: TestModule): boolean {
  return module.errors().length > 0
}
