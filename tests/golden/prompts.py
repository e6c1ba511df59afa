"""The prompts of smollm2.json: (name, text) or (name, chat messages)."""


def user(text):
    return [{"role": "user", "content": text}]


PROMPTS = [
    ("english_river", "The river had risen in the night, and by morning the lower fields were a single sheet of grey water. "
     "Anna stood at the gate with her boots already wet and tried to remember"),
    ("english_bakery", "Our bakery opens at six in the morning. The first customers are usually the bus drivers, who want"),
    ("english_history", "The printing press changed Europe because books, which had been copied by hand for centuries, could now be"),
    ("english_letter", "Dear Mr. Harrison,\n\nThank you for your letter of the 12th of May. I am sorry to hear that the clock which "
     "you bought from our shop stops every night at a quarter past three. We have looked into the matter and"),
    ("english_science", "Water boils at a lower temperature on a mountain than at the sea, since"),
    ("english_dialogue", "\"You cannot be serious,\" said the captain.\n\"I have never been more serious,\" the cook answered, \"the "
     "potatoes are gone, all of them, and so is the cat.\"\n"),
    ("english_definition", "A lighthouse is a tower with a bright lamp at its top. Sailors who see its light at night know that"),
    ("english_news", "LONDON - The city council voted on Tuesday evening to close three of the five bridges for repairs that are "
     "expected to last until autumn. Residents of the northern districts, who cross the river every day on "
     "their way to work, say that"),
    ("english_long", "When the old observatory was sold, nobody in the village knew what the new owner wanted with it. The dome "
     "had not turned for thirty years. Its slit was rusted shut, pigeons nested on the mounting of the telescope, "
     "and the long staircase that led up to it had lost every second step. In the first summer a van came up the "
     "hill each week and brought crates without labels. In the second summer there was light in the windows at "
     "night. The children said that they had seen the dome move, a hand's breadth at a time, always before dawn. "
     "In the third summer the owner invited everybody to come and look. They climbed the new stairs, one after "
     "the other, and under the open dome they found"),
    ("french_market", "Le samedi matin, le marché de la petite ville est plein de monde. Les paysans vendent des pommes, du fromage et"),
    ("french_question", "Quelle est la différence entre un lac et un étang ? Un lac est"),
    ("french_letter", "Chère Madame,\n\nNous avons bien reçu votre commande du 3 mars et nous vous en remercions."),
    ("german_forest", "Am Rand des Waldes stand ein altes Haus, in dem seit vielen Jahren niemand mehr wohnte. Eines Abends"),
    ("german_recipe", "Für den Apfelkuchen braucht man 200 g Butter, 150 g Zucker, 3 Eier und"),
    ("german_grammar", "Der bestimmte Artikel im Deutschen hat drei Formen: der, die und"),
    ("chinese_weather", "今天天气很好，我们一起去公园散步。公园里有很多人，有的在跑步，有的在"),
    ("chinese_city", "北京是中国的首都，有很多"),
    ("spanish_sea", "El pescador salió al mar antes del amanecer porque"),
    ("code_python", "def fibonacci(n):\n    \"\"\"Return the first n Fibonacci numbers.\"\"\"\n    result = [0, 1]\n"),
    ("code_cpp", "#include <vector>\n\n// Returns the index of the largest element, or -1 when there is none.\n"
     "int index_of_max(const std::vector<int>& values) {\n"),
    ("code_class", "class Stack:\n    \"\"\"Last in, first out.\"\"\"\n\n    def __init__(self, limit=100):\n        self._items = []\n        "
     "self._limit = limit\n\n    def push(self, item):\n        if len(self._items) >= self._limit:\n            raise "
     "OverflowError(f\"the stack holds {self._limit} items\")\n        self._items.append(item)\n\n    def pop(self):\n        "
     "if not self._items:\n            raise IndexError(\"pop from an empty stack\")\n        return self._items.pop()\n\n    "
     "def peek(self):\n"),
    ("code_sql", "SELECT customers.name, SUM(orders.total) AS spent\nFROM customers\nJOIN orders ON"),
    ("code_shell", "#!/bin/sh\n# Remove all files older than 7 days from /var/tmp/cache\nfind"),
    ("code_javascript", "function debounce(callback, delay) {\n  let timer = null;\n  return function (...args) {\n"),
    ("code_html", "<!DOCTYPE html>\n<html>\n<head>\n  <title>Shopping list</title>\n</head>\n<body>\n  <ul>\n    <li>Milk</li>\n"),
    ("math_word", "A train leaves at 9:15 and arrives at 11:40. The journey takes 2 hours and"),
    ("math_proof", "Theorem. The sum of two even numbers is even.\nProof. Let a = 2m and b = 2n. Then a + b ="),
    ("math_table", "7 x 1 = 7\n7 x 2 = 14\n7 x 3 = 21\n7 x 4 = 28\n7 x 5 ="),
    ("list_planets", "The planets of the solar system are:\n1. Mercury\n2. Venus\n3. Earth\n"),
    ("list_days", "January, February, March, April, May, June, July, August, September,"),
    ("list_steps", "How to change a bicycle tyre:\n- Take the wheel off the frame.\n- Let out the rest of the air.\n-"),
    ("json_person", "{\"name\": \"Maria Lopez\", \"age\": 34, \"city\": \"Lisbon\", \"languages\": [\"Portuguese\","),
    ("json_config", "{\n  \"server\": {\n    \"host\": \"127.0.0.1\",\n    \"port\": 8080,\n    \"tls\": false\n  },\n  \"logging\": {\n"),
    ("yaml_pod", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n"),
    ("symbols_mixed", "Total: €1,234.56 (incl. 19 % VAT) → please pay by 2024-03-31; ref. #A-7731/b."),
    ("chat_capital", user("What is the capital of France?")),
    ("chat_poem", user("Write a short poem about the sea in winter.")),
    ("chat_code", user("Write a Python function that reverses a string. It must work for the empty string and for "
                        "strings with accents, it must have type hints and a docstring, and it must not use "
                        "slicing. Then explain in two sentences how it works, and show how to call it with the "
                        "words 'kantha', 'quilt' and 'patchwork'. Please keep the whole answer under 150 words, "
                        "and do not repeat this question.")),
    ("chat_system", [{"role": "system", "content": "You answer in one short sentence."},
                     {"role": "user", "content": "Why is the sky blue?"}]),
    ("chat_turns", [{"role": "user", "content": "My name is Tom."},
                    {"role": "assistant", "content": "Nice to meet you, Tom! How can I help you today?"},
                    {"role": "user", "content": "What is my name?"}]),
]
