"""The first table: as `manage.py makemigrations` wrote it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Create the table of books."""

    initial = True
    dependencies: ClassVar = []
    operations: ClassVar = [
        migrations.CreateModel(
            name="Book",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("author", models.CharField(max_length=200)),
                ("published", models.DateField()),
                ("cover", models.FileField(blank=True, upload_to="covers/")),
            ],
            options={"ordering": ("author", "title")},
        ),
    ]
