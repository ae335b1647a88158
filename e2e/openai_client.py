"""OpenAI's own client for Python against the real program."""

import unittest

import openai

from daemon import TOKEN, Daemon

MESSAGES = [{"role": "user", "content": "I have a white cat called Soot."}]


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.url = cls.daemon.__enter__()
        cls.client = openai.OpenAI(api_key=TOKEN, base_url=f"{cls.url}/v1", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.__exit__()

    def ask(self, **more):
        body = {"model": "default", "messages": MESSAGES, "user": "python", **more}
        return self.client.chat.completions.create(**body)

    def test_personas_are_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["default"])
        self.assertEqual(self.client.models.retrieve("default").object, "model")

    def test_a_reply_comes_whole_and_streamed(self):
        whole = self.ask()
        self.assertEqual(whole.choices[0].finish_reason, "stop")
        self.assertTrue(whole.choices[0].message.content)
        usage = whole.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        question = [{"role": "user", "content": [{"type": "text", "text": "What is my cat called?"}]}]
        pieces = list(self.ask(messages=question, stream=True, stream_options={"include_usage": True}))
        said = "".join(chunk.choices[0].delta.content or "" for chunk in pieces if chunk.choices)
        self.assertIn("Soot", said)
        self.assertEqual(pieces[-1].choices, [])
        self.assertIsNotNone(pieces[-1].usage)
        self.assertEqual(pieces[-2].choices[0].finish_reason, "stop")

    def test_a_stop_ends_the_answer(self):
        said = self.ask().choices[0].message.content
        stop = said.split()[1]
        self.assertNotIn(stop, self.ask(stop=[stop]).choices[0].message.content)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            self.ask(model="gpt-4")
        self.assertEqual(refused.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as refused:
            self.ask(tools=[{"type": "function", "function": {"name": "f"}}])
        self.assertEqual(refused.exception.param, "tools")
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
        with self.assertRaises(openai.BadRequestError):
            self.ask(messages=[{"role": "user", "content": [picture]}])
        with openai.OpenAI(api_key="wrong", base_url=f"{self.url}/v1", max_retries=0) as stranger:
            with self.assertRaises(openai.AuthenticationError):
                stranger.models.list()


if __name__ == "__main__":
    unittest.main(verbosity=2)
